# SPDX-License-Identifier: Apache-2.0
# object.py: a kernel as one C source: what LLVM made, as assembly, with the functions that it calls and a table of its
# arguments. backends/tvm/object.h has the other side.
import re

# Data may be aligned to their elements only: loads and stores that insist on more become those that do not.
UNALIGNED = [(re.compile(r"\bvmovaps\b"), "vmovups"), (re.compile(r"\bvmovapd\b"), "vmovupd"),
             (re.compile(r"\bvmovdqa(32|64)?\b"), lambda m: "vmovdqu" + (m.group(1) or ""))]
LEFT_OUT = re.compile(r"\s*\.(file|loc|ident|addrsig|addrsig_sym)\b")
WEAK = re.compile(r"\s*\.(?:weak|globl)\s+(\w+)")
SECTION = re.compile(r'\s*(\.section\s+"?([^,"\s]+)|\.(text|data|bss)\b)')


def assembly(text):
    """Without what debuggers want."""
    lines, wanted = [], True
    for line in text.splitlines():
        section = SECTION.match(line)
        if section:
            name = section.group(2) or ""
            wanted = not name.startswith((".debug", ".note", ".tvm_ffi"))
        shared = WEAK.match(line)
        if shared and wanted:
            lines.append(f"\t.hidden {shared.group(1)}")
        if wanted and not LEFT_OUT.match(line):
            for pattern, other in UNALIGNED:
                line = pattern.sub(other, line)
            lines.append(line)
    return "\n".join(lines)


def quoted(text):
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"').replace("\t", "\\t") + '"'


GLUE = """
#include <stddef.h>
#include <stdint.h>
#define HIDDEN __attribute__((visibility("hidden")))
struct argument { int32_t value, pack, rank; int64_t dims[8]; const char *form; };
struct object {
    uint32_t version, argument_count;
    const struct argument *arguments;
    int (*kernel)(void *, const void *, int32_t, void *);
    int (*const *packs)(void *, const void *, int32_t, void *);
    int (*launch)(void *, void *, int);
    void *(*allocate)(uint64_t);
    int (*release)(void *);
    char problem[200];
    const char *implementation, *record;
};
extern struct object collage_kernel;
HIDDEN int collage_launch(void *body, void *data, int count) { return collage_kernel.launch(body, data, count); }
HIDDEN void *TVMBackendAllocWorkspace(int kind, int device, uint64_t bytes, int code, int bits)
{ return collage_kernel.allocate(bytes); }
HIDDEN int TVMBackendFreeWorkspace(int kind, int device, void *at) { return collage_kernel.release(at); }
HIDDEN void TVMFFIErrorSetRaisedFromCStrParts(const char *kind, const char **parts, int32_t count)
{
    size_t n = 0;
    for (int32_t k = 0; k < count; k++)
        for (const char *c = parts[k]; c && *c && n + 1 < sizeof collage_kernel.problem; c++)
            collage_kernel.problem[n++] = *c == '\\n' ? ' ' : *c;
    collage_kernel.problem[n] = 0;
}
HIDDEN void TVMFFIErrorSetRaisedFromCStr(const char *kind, const char *text)
{ TVMFFIErrorSetRaisedFromCStrParts(kind, &text, 1); }
"""


def object_source(graph, results, text, implementation, record=""):
    """results: the tensors of the sub-graph's outputs, in its order."""
    rows = []
    packs = 0
    arguments = graph.arguments + [(v, t, None) for v, t in zip(graph.outputs, results)]
    for value, tensor, form in arguments:
        dims = [int(d) for d in tensor.shape]
        pack = -1
        if form is not None:
            pack = packs
            packs += 1
        rows.append("{ %d, %d, %d, { %s }, %s }" % (value, pack, len(dims), ", ".join(map(str, dims)), quoted(form or "")))
    made = [GLUE, "__asm__(", "\n".join(quoted(line) + ' "\\n"' for line in assembly(text).splitlines()), '".text\\n");']
    made.append("extern int __tvm_ffi_kernel(void *, const void *, int32_t, void *) HIDDEN;")
    for k in range(packs):
        made.append(f"extern int __tvm_ffi_pack{k}(void *, const void *, int32_t, void *) HIDDEN;")
    made.append("static int (*const packs[])(void *, const void *, int32_t, void *) = { %s };"
                % ", ".join([f"__tvm_ffi_pack{k}" for k in range(packs)] + ["NULL"]))
    made.append("static const struct argument arguments[] = { %s };" % ", ".join(rows))
    for hook in HOOKS:
        if re.search(rf"^{hook}:", text, re.M):
            made.append(f"extern void *{hook}; __attribute__((constructor)) static void fill_{hook}(void) "
                        f"{{ {hook} = (void *){HOOKS[hook]}; }}")
    made.append('__attribute__((visibility("default"))) struct object collage_kernel = { .version = 1, '
                ".argument_count = %d, .arguments = arguments, .kernel = __tvm_ffi_kernel, .packs = packs, "
                ".implementation = %s, .record = %s };\n" % (len(arguments), quoted(implementation), quoted(record)))
    return "\n".join(made)


# Variables of the object through which TVM's loader would hand over functions.
HOOKS = {"__TVMBackendParallelLaunch": "collage_launch", "__TVMBackendAllocWorkspace": "TVMBackendAllocWorkspace",
         "__TVMBackendFreeWorkspace": "TVMBackendFreeWorkspace",
         "__TVMFFIErrorSetRaisedFromCStrParts": "TVMFFIErrorSetRaisedFromCStrParts"}
