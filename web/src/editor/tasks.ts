import type { SyntaxNode, Tree } from "@lezer/common";
import { find, pathTo, textOf, type Path } from "./path.ts";

/** A task of a definition. */
export interface Task {
  path: Path;
  name: string;
  /** Where its name begins. */
  from: number;
}

/** A change of the text. */
export interface Change {
  from: number;
  to: number;
  insert: string;
}

/** The keys under which lists of tasks stand. */
const lists = new Set(["do", "try", "branches", "before", "after"]);

/** How much of a path names the innermost task that it leads into; 0: none. */
export function lengthOfTask(path: Path): number {
  for (let length = path.length; length >= 3; length--) {
    if (
      typeof path[length - 1] === "string" &&
      typeof path[length - 2] === "number" &&
      lists.has(String(path[length - 3]))
    ) {
      return length;
    }
  }
  return 0;
}

function* pairsIn(tree: Tree): Generator<SyntaxNode> {
  const cursor = tree.cursor();
  do {
    if (cursor.name === "Pair") {
      yield cursor.node;
    }
  } while (cursor.next());
}

const keyIn = (pair: SyntaxNode): SyntaxNode | null | undefined => pair.getChild("Key")?.firstChild;

/** All tasks, in the order of the text. */
export function tasksIn(tree: Tree, text: string): Task[] {
  const found: Task[] = [];
  for (const pair of pairsIn(tree)) {
    const key = keyIn(pair);
    const path = key ? pathTo(pair, text) : [];
    if (key && lengthOfTask(path) === path.length && path.length > 0) {
      found.push({ path, name: String(path.at(-1)), from: key.from });
    }
  }
  return found;
}

/** The names of the tasks beside a task, without its own. */
export function namesBeside(tree: Tree, text: string, task: Path): string[] {
  const list = JSON.stringify(task.slice(0, -2));
  return tasksIn(tree, text)
    .filter((each) => JSON.stringify(each.path.slice(0, -2)) === list && each.path.at(-2) !== task.at(-2))
    .map((each) => each.name);
}

/** Words that `then` understands, so that no task can have them as its name and be reached. */
export const reserved: readonly string[] = ["continue", "exit", "end"];

/** A name as the text has it: in quotes where YAML or JSON needs them. */
function written(name: string, json: boolean): string {
  const plain = /^[A-Za-z_][\w-]*$/.test(name) && !/^(?:true|false|null|yes|no|on|off|y|n)$/i.test(name);
  return plain && !json ? name : JSON.stringify(name);
}

/** What gives a task another name: its key, and each `then` of the tasks beside it that leads to it. */
export function renamed(tree: Tree, text: string, task: Path, name: string): Change[] {
  const key = find(tree, text, task)?.key?.firstChild;
  if (!key) {
    return [];
  }
  const old = String(task.at(-1));
  const insert = written(name, text.trimStart().startsWith("{"));
  const list = JSON.stringify(task.slice(0, -2));
  const changes = [{ from: key.from, to: key.to, insert }];
  for (const pair of pairsIn(tree)) {
    const value = pair.lastChild;
    if (textOf(keyIn(pair), text) !== "then" || !value || textOf(value, text) !== old) {
      continue;
    }
    const path = pathTo(pair, text);
    const place = path.findLastIndex((part, i) => typeof part === "number" && path[i - 1] !== "switch");
    if (JSON.stringify(path.slice(0, place)) === list) {
      changes.push({ from: value.from, to: value.to, insert });
    }
  }
  return changes.toSorted((a, b) => a.from - b.from);
}
