# Runs a script of a workflow: python3 -c <this file> <job> <result>. The job is JSON: code,
# argv, variables. What the code returns becomes the result, as JSON (T47).


def _run():
    import ast
    import builtins
    import json
    import linecache
    import os
    import sys
    import traceback
    import types

    name = "script.py"
    job_path, result_path = sys.argv[1:3]
    with open(job_path, encoding="utf-8") as file:
        job = json.load(file)
    os.unlink(job_path)
    code = job["code"]
    # Tracebacks show the lines of the script.
    linecache.cache[name] = (len(code), None, code.splitlines(True), name)
    sys.argv = [name] + job["argv"]
    main = types.ModuleType("__main__")
    sys.modules["__main__"] = main
    scope = main.__dict__
    scope["__builtins__"] = builtins
    scope.update(job["variables"])

    def returns(nodes):
        """Whether a return stands outside of every function and class."""
        nodes = list(nodes)
        while nodes:
            node = nodes.pop()
            if isinstance(node, ast.Return):
                return True
            if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)):
                nodes.extend(ast.iter_child_nodes(node))
        return False

    def is_future(node):
        return isinstance(node, ast.ImportFrom) and node.module == "__future__"

    def wrap(tree):
        """The script as the body of a function whose names are all global, as they would be without it."""
        function = ast.parse("def __script__(): pass").body[0]
        futures = [node for node in tree.body if is_future(node)]
        function.body = [node for node in tree.body if not is_future(node)]
        module = ast.Module(futures + [function], [])
        compiled = compile(module, name, "exec", dont_inherit=True)
        inner = next(c for c in compiled.co_consts if isinstance(c, types.CodeType) and c.co_name == "__script__")
        names = [n for n in inner.co_varnames + inner.co_cellvars if n.isidentifier()]
        if names:
            function.body.insert(0, ast.Global(names=names))
            ast.fix_missing_locations(module)
            compiled = compile(module, name, "exec", dont_inherit=True)
        return compiled

    value = None
    try:
        tree = ast.parse(code, name)
        if returns(tree.body):
            exec(wrap(tree), scope)
            value = scope.pop("__script__")()
        else:
            exec(compile(tree, name, "exec", dont_inherit=True), scope)
    except SystemExit:
        raise
    except BaseException as error:
        trace = error.__traceback__
        while trace is not None and trace.tb_frame.f_code.co_filename != name:
            trace = trace.tb_next
        traceback.print_exception(type(error), error, trace)
        sys.exit(1)
    if value is not None:
        try:
            text = json.dumps(value, allow_nan=False)
        except (TypeError, ValueError, RecursionError) as error:
            sys.exit("the returned value is no JSON: %s" % error)
        with open(result_path, "w", encoding="utf-8") as file:
            file.write(text)


_run()
