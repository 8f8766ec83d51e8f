"""What no type checker is needed for: every annotation can be evaluated, and every global name exists."""

import builtins
import dis
import inspect
import json
import types
import typing

import skein


def codes_in(code):
    yield code
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from codes_in(constant)


hints = 0
for value in list(vars(skein).values()):
    if inspect.isclass(value) and value.__module__ == "skein":
        hints += len(typing.get_type_hints(value))
        for function in vars(value).values():
            if inspect.isfunction(function):
                hints += len(typing.get_type_hints(function))
    elif inspect.isfunction(value) and value.__module__ == "skein":
        hints += len(typing.get_type_hints(value))

with open(skein.__file__, encoding="utf-8") as file:
    module = compile(file.read(), skein.__file__, "exec")
used = {
    instruction.argval
    for code in codes_in(module)
    for instruction in dis.get_instructions(code)
    if instruction.opname in ("LOAD_GLOBAL", "LOAD_NAME")
}
known = {*vars(skein), *vars(builtins), "__module__", "__qualname__"}
print(json.dumps({"hints": hints, "unknown": sorted(used - known)}))
