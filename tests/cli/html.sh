# SPDX-License-Identifier: Apache-2.0
# The page of a plan: whole, by itself, and at work in a browser, where there is one.
make_network tiny_cnn
plugins="$(cd "$(dirname "$collage")/.." && pwd)/test-plugins/faulty"
export COLLAGE_PLUGINS="$plugins"
good "tiny_cnn.plan.json" optimize tiny_cnn.onnx -t1 --budget 20 --race 1 -q
[ -s tiny_cnn.plan.json ] || return
good "measured now" measure tiny_cnn.onnx --node /Relu -t1 -q # an alternative

run show tiny_cnn.plan.json -o page.html
holds "show writes a page" [ "$status" = 0 -a -s page.html ]
holds "nothing is printed" [ ! -s "$work/out" -a ! -s "$work/err" ]
holds "the page is whole" [ "$(tail -n 1 page.html)" = "</html>" ]
holds "each step has a box" \
    [ "$(grep -o '<g class="s"' page.html | wc -l)" = \
    "$(grep -o '"kind"' tiny_cnn.plan.json | wc -l)" ]
holds "an alternative is there" grep -q '\["reference","","Relu"' page.html
holds "nothing is fetched" \
    [ "$(grep -oE '(https?:)?//[a-z][^ "]*' page.html | sort -u)" = "http://www.w3.org/2000/svg" ]
holds "a policy forbids it" grep -q "Content-Security-Policy.*default-src 'none'" page.html
run show tiny_cnn.plan.json -o again.html
holds "the page is the same every time" cmp page.html again.html
bad "no-folder" show tiny_cnn.plan.json -o no-folder/page.html

# Without a cost store there are no alternatives, but there is a page.
touch plain-file
export COLLAGE_CACHE="$work/home/plain-file/below"
run show tiny_cnn.plan.json -o bare.html
holds "a page without costs is written" [ "$status" = 0 -a -s bare.html ]
holds "the page says so" grep -q 'has no costs of alternatives' bare.html
holds "and there is a warning" grep -q 'plain-file' "$work/err"
export COLLAGE_CACHE="$work/cache"

# Its script parses, and runs.
sed -n '/^<script nonce/,/^<\/script>/p' page.html | sed '1d;$d' >page.js
holds "the script is there" [ -s page.js ]
if command -v node >/dev/null; then
    holds "the script parses" node --check page.js
else
    echo "skipped: the script is not parsed, there is no node"
fi
browser=
for name in chromium chromium-browser google-chrome google-chrome-stable; do
    [ -n "$browser" ] || browser=$(command -v $name)
done
if [ -n "$browser" ]; then
    timeout 120 "$browser" --headless --no-sandbox --disable-gpu --user-data-dir="$work/browser" \
        --virtual-time-budget=5000 --dump-dom "file://$work/home/page.html#1" >dom.html 2>/dev/null
    holds "the script ran to its end" grep -q 'data-ready="yes"' dom.html
    holds "a step is shown" grep -q '<h2>Step 1: ' dom.html
else
    echo "skipped: the page is not opened, there is no Chromium"
fi
