#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tests the page that `collage show` writes.

    page.py make COLLAGE PLUGINS DIR   optimises two networks and writes DIR/hostile.html and DIR/large.html
    page.py parse DIR                  reads them: well-formed, nothing from outside, names only as text
    page.py browse DIR                 opens them in headless Chromium; exit status 77 if there is none

The first network has names that want to become elements, attributes or code, and its plan was edited to have such
backends and such evidence; the second has 1,000 operators.
"""
import html.parser
import json
import os
import pathlib
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import zlib

SKIPPED = 77
EVIL = "</script><img src=x onerror=alert(1)>\"' onload='alert(2)"
NAMES = ("hostile", "large")
BROWSERS = ("chromium", "chromium-browser", "chromium-headless-shell", "headless_shell", "google-chrome",
            "google-chrome-stable", "chrome")
SVG = "http://www.w3.org/2000/svg"
VOID = {"meta", "input"}
ELEMENTS = {"html", "head", "meta", "title", "style", "body", "header", "h1", "p", "button", "label", "input", "span",
            "noscript", "ul", "li", "main", "aside", "svg", "g", "path", "rect", "text", "circle", "figure",
            "figcaption", "table", "caption", "thead", "tbody", "tfoot", "tr", "th", "td", "script"}
SMALLEST_TEXT = 10  # pixels


class Failures:
    """Counts what holds and what does not."""

    def __init__(self):
        self.count = 0
        self.failed = 0

    def check(self, holds, claim):
        self.count += 1
        if not holds:
            self.failed += 1
            print(f"FAIL: {claim}")

    def equal(self, found, wanted, claim):
        self.check(found == wanted, f"{claim}: {found!r}, not {wanted!r}")

    def end(self):
        print(f"{self.count - self.failed} of {self.count} hold")
        return 1 if self.failed or not self.count else 0


# ---- networks and plans ----


def make_model(path, operators, name_of):
    """A chain: mostly what the test plugin does not take, now and then a Relu, with a residual connection each ten."""
    import onnx
    from onnx import TensorProto, helper

    shape = [1, 4, 8, 8]
    nodes, before, skip = [], name_of("in"), name_of("in")
    for k in range(operators):
        after = name_of("out") if k == operators - 1 else name_of(f"v{k}")
        op = "Relu" if k % 25 == 24 else "Add" if k % 10 == 9 else ("Tanh", "Neg", "Sigmoid")[k % 3]
        inputs = [before, skip] if op == "Add" else [before]
        nodes.append(helper.make_node(op, inputs, [after], name=name_of(f"n{k}")))
        if op == "Add":
            skip = after
        before = after
    graph = helper.make_graph(nodes, name_of("net"),
                              [helper.make_tensor_value_info(name_of("in"), TensorProto.FLOAT, shape)],
                              [helper.make_tensor_value_info(name_of("out"), TensorProto.FLOAT, shape)])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)


def edit_plan(path):
    """Backends with names that want out, and evidence that makes only half sense."""
    plan = json.loads(path.read_text())
    changed = {backend["name"]: f"{backend['name']} {EVIL}" for backend in plan["backends"]}
    for backend in plan["backends"]:
        backend["name"] = changed[backend["name"]]
        backend["version"] += EVIL
    for step in plan["steps"]:
        step["backend"] = changed.get(step["backend"], step["backend"])
        step["variant"] = step["implementation"] = EVIL
    for result in plan["results"]:
        result["note"] = EVIL
    plan["device_name"] = EVIL
    evidence = plan["evidence"]
    evidence["convergence"] = [{"step": k, "best_ns": 1e6 / (k + 1)} for k in range(12)]
    evidence["convergence"] += [{"step": EVIL, "best_ns": EVIL}, {"step": 3, "best_ns": 1}, EVIL, None,
                                {"step": 99, "best_ns": -1}]
    evidence["ended_early"] = True
    path.write_text(json.dumps(plan))


def make(collage, plugins, folder):
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    environment = dict(os.environ, COLLAGE_CACHE=str(folder / "cache"), COLLAGE_PLUGINS=plugins)
    make_model(folder / "hostile.onnx", 30, lambda name: f"{name}{EVIL}")
    make_model(folder / "large.onnx", 1000, lambda name: name)
    for name in NAMES:
        plan = folder / f"{name}.plan.json"
        subprocess.run([collage, "optimize", folder / f"{name}.onnx", "-t1", "--budget", "60", "--race", "1", "-q",
                        "-o", plan], env=environment, stdout=subprocess.DEVNULL, check=True)
        if name == "hostile":
            edit_plan(plan)
        subprocess.run([collage, "show", plan, "-o", folder / f"{name}.html"], env=environment, check=True)
    return 0


def count_runs(plan):
    """Steps that follow each other on one backend; what is no kernel belongs to the run before it."""
    runs, backend = 0, None
    for index, step in enumerate(plan["steps"]):
        kernel = step["kind"] == "kernel"
        runs += index == 0 or (kernel and backend is not None and step["backend"] != backend)
        backend = step["backend"] if kernel else backend
    return runs


# ---- without a browser ----


class Page(html.parser.HTMLParser):
    """Collects what is in the page, and what is wrong with its form."""

    def __init__(self):
        super().__init__(convert_charrefs=True)
        self.open, self.problems, self.elements = [], [], []
        self.texts = {}  # element: all its text

    def note(self, tag, attributes):
        self.elements.append((tag, dict(attributes)))
        for name, value in attributes:
            if name in ("src", "href", "xlink:href", "action", "data", "srcset") or name.startswith("on"):
                self.problems.append(f"<{tag}> has the attribute {name}")
            if value and "//" in value and value != SVG and tag not in ("svg", "g", "rect"):
                self.problems.append(f"{name} of <{tag}> has an address: {value}")
        if len({name for name, _ in attributes}) != len(attributes):
            self.problems.append(f"<{tag}> has an attribute twice")

    def handle_starttag(self, tag, attributes):
        self.note(tag, attributes)
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.note(tag, attributes)

    def handle_endtag(self, tag):
        if not self.open or self.open[-1] != tag:
            self.problems.append(f"</{tag}> in line {self.getpos()[0]} ends {self.open[-1:]}")
        else:
            self.open.pop()

    def handle_data(self, data):
        if self.open:
            self.texts.setdefault(self.open[-1], []).append(data)

    def handle_comment(self, data):
        self.problems.append(f"a comment in line {self.getpos()[0]}")

    def unknown_decl(self, data):
        self.problems.append(f"a declaration in line {self.getpos()[0]}")

    def count(self, tag, **attributes):
        return sum(1 for found, have in self.elements
                   if found == tag and all(have.get(k.rstrip("_")) == v for k, v in attributes.items()))


def read_page(path):
    page = Page()
    page.feed(path.read_text(encoding="utf-8"))
    page.close()
    return page


def check_form(page, name, failures):
    failures.check(not page.problems, f"{name}: {page.problems[:5]}")
    failures.equal(page.open, [], f"{name}: elements that are not closed")
    strange = {tag for tag, _ in page.elements} - ELEMENTS
    failures.equal(strange, set(), f"{name}: elements that do not belong there")
    failures.equal(page.count("script"), 2, f"{name}: scripts")
    ids = [have["id"] for _, have in page.elements if "id" in have]
    failures.equal(len(ids), len(set(ids)), f"{name}: different ids")
    outside = re.findall(r"url\(|@import|https?:|\bimport\s*\(|fetch\(|XMLHttpRequest|WebSocket",
                         "".join(page.texts["style"] + page.texts["script"]))
    failures.equal(outside, [], f"{name}: what could reach outside")
    sizes = [float(size) for size in re.findall(r"font(?:-size)?:\s*([0-9.]+)px", "".join(page.texts["style"]))]
    failures.check(sizes and min(sizes) >= SMALLEST_TEXT, f"{name}: text is smaller than {SMALLEST_TEXT}: {sizes}")


def check_contents(page, plan, name, failures):
    steps, runs = len(plan["steps"]), count_runs(plan)
    failures.equal(page.count("g", class_="s"), steps, f"{name}: boxes of steps")
    failures.equal(page.count("g", class_="f"), runs if runs < steps else 0, f"{name}: folded boxes")
    failures.equal(page.count("button", class_="go"), steps, f"{name}: rows of steps")
    failures.check(page.count("rect", class_="kernel") >= len(plan["backends"]), f"{name}: no key")
    data = next((text for text in page.texts["script"] if text.lstrip().startswith("{")), "{}")
    failures.equal(len(json.loads(data).get("steps", [])), steps, f"{name}: steps in the data")


def parse(folder):
    failures = Failures()
    for name in NAMES:
        plan = json.loads((folder / f"{name}.plan.json").read_text())
        page = read_page(folder / f"{name}.html")
        check_form(page, name, failures)
        check_contents(page, plan, name, failures)
        if name == "hostile":
            failures.check(EVIL[:20] in "".join(page.texts["h1"]), "the name of the network is not there as text")
            failures.check(any(EVIL[:20] in text for text in page.texts["td"]), "a backend is not there as text")
            failures.equal(page.count("circle", class_="dot"), 12, "points of the search that make sense")
            failures.check("ended early" in "".join(page.texts["p"]), "that it was ended early is not told")
        else:
            failures.equal(len(plan["steps"]), 1000, "steps of the large plan")
            failures.check(count_runs(plan) <= 100, "folding does not help the large plan")
            failures.check(page.count("g", id="folded") == 1, "the large plan cannot be folded")
    return failures.end()


# ---- in a browser ----


def find_browser():
    names = (os.environ.get("COLLAGE_CHROMIUM") or "", *BROWSERS)
    return next((path for path in map(shutil.which, filter(None, names)) if path), None)


def run_browser(browser, profile, *arguments):
    command = [browser, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars",
               "--no-first-run", "--window-size=1400,1000", f"--user-data-dir={profile}",
               "--virtual-time-budget=10000", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=150, check=False)


def rows_of(png):
    """The lines of a picture as they are packed: those of a blank one are all alike, or almost."""
    if png[:8] != b"\x89PNG\r\n\x1a\n":
        return []
    at, packed, width, height, bits = 8, b"", 0, 0, 0
    while at + 8 <= len(png):
        length, kind = struct.unpack(">I4s", png[at:at + 8])
        body = png[at + 8:at + 8 + length]
        if kind == b"IHDR":
            width, height, depth, colour = struct.unpack(">IIBB", body[:10])
            bits = depth * {0: 1, 2: 3, 3: 1, 4: 2, 6: 4}[colour]
        elif kind == b"IDAT":
            packed += body
        at += length + 12
    lines, size = zlib.decompress(packed), 1 + (width * bits + 7) // 8
    return [lines[k * size:(k + 1) * size] for k in range(height)]


def check_dom(dom, plan, page, name, failures):
    root = re.search(r"<html[^>]*>", dom)
    attributes = dict(re.findall(r'(data-[a-z]+)="([^"]*)"', root.group(0) if root else ""))
    steps, runs = len(plan["steps"]), count_runs(plan)
    failures.equal(attributes.get("data-ready"), "yes", f"{name}: the script came to its end")
    failures.equal(attributes.get("data-error"), None, f"{name}: an error of the script")
    failures.equal(attributes.get("data-steps"), str(steps), f"{name}: steps that the script found")
    failures.equal(attributes.get("data-edges"), str(page.count("path", class_="e")), f"{name}: edges it found")
    failures.equal(attributes.get("data-runs"), str(runs if runs < steps else 0), f"{name}: runs it found")
    failures.check("<h2>Step 1: " in dom, f"{name}: the step in the address is not shown")
    shown = Page()
    shown.feed(dom)
    strange = {tag for tag, _ in shown.elements} - ELEMENTS - {"h2", "h3"}
    failures.equal(strange, set(), f"{name}: elements that do not belong there, once the script ran")


def browse(folder):
    browser = find_browser()
    if not browser:
        print("skipped: no Chromium found (" + ", ".join(BROWSERS) + "; COLLAGE_CHROMIUM names another)")
        return SKIPPED
    failures = Failures()
    with tempfile.TemporaryDirectory() as work:
        for name in NAMES:
            plan = json.loads((folder / f"{name}.plan.json").read_text())
            path = folder / f"{name}.html"
            found = run_browser(browser, f"{work}/profile", "--dump-dom", f"{path.as_uri()}#1")
            failures.check(found.returncode == 0, f"{name}: {browser} failed: {found.stderr[-400:]}")
            check_dom(found.stdout, plan, read_page(path), name, failures)
            picture = pathlib.Path(work, f"{name}.png")
            run_browser(browser, f"{work}/profile", f"--screenshot={picture}", path.as_uri())
            rows = rows_of(picture.read_bytes()) if picture.exists() else []
            failures.check(len(set(rows)) > 50, f"{name}: the picture is blank ({len(set(rows))} different rows)")
    return failures.end()


def main(arguments):
    commands = {"make": (4, lambda a: make(a[0], a[1], pathlib.Path(a[2]))),
                "parse": (2, lambda a: parse(pathlib.Path(a[0]))),
                "browse": (2, lambda a: browse(pathlib.Path(a[0])))}
    count, command = commands.get(arguments[0] if arguments else "", (0, None))
    if not command or len(arguments) != count:
        print(__doc__)
        return 2
    return command(arguments[1:])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
