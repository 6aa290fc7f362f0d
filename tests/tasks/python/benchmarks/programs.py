"""Code: does the answer define the function with its parameters?"""

import ast

import polymeter


@polymeter.scorer
def signature(answer: str, row: polymeter.Row) -> polymeter.Scored:
    code = answer.split("```")[1].removeprefix("python") if "```" in answer else answer
    functions = [node for node in ast.walk(ast.parse(code)) if isinstance(node, ast.FunctionDef)]
    named = next((node.args.args for node in functions if node.name == row["name"]), [])
    share = sum(one.arg in row["parameters"] for one in named) / len(row["parameters"])
    return polymeter.Scored({"defined": bool(named), "parameters": share}, answer=code.strip())


@polymeter.task(rows=[{"name": "area", "parameters": ["width", "height"]}], scorers=signature)
def programs(row: polymeter.Row) -> str:
    return f"Write a Python function {row['name']}({', '.join(row['parameters'])})."
