import { useEffect, useLayoutEffect, useMemo, useRef, useState, type RefObject } from "react";
import type { FormField } from "../../api/workflows.ts";
import { startChecker, type Checker } from "./checker.ts";
import type { Draft } from "./draft.ts";
import { bounded, checkable, isInside, sayFound, type Finding } from "./findings.ts";
import { read } from "./read.ts";
import { sayWrong } from "./whole.ts";

const none: ReadonlySet<string> = new Set();

/**
 * Checks the whole value by its schema when a field loses the focus, and tells what is wrong with the fields that the
 * person has left. What is typed into again is not complained about until it is left. Nothing of it keeps anything from
 * being sent: the server decides.
 */
export function useCheck(
  element: RefObject<HTMLElement | null>,
  schema: unknown,
  form: FormField | undefined,
  draft: Draft | undefined,
): (pointer: string, below: boolean) => string | undefined {
  const text = useMemo(() => checkable(schema), [schema]);
  const [found, setFound] = useState<Finding[]>([]);
  const [left, setLeft] = useState(none);
  const latest = useRef({ form, draft });
  useLayoutEffect(() => {
    latest.current = { form, draft };
  });
  // When entries come or go, or another form is chosen, pointers mean other fields.
  const shape = useMemo(() => shapeOf(draft), [draft]);
  const [before, setBefore] = useState(shape);
  if (before !== shape) {
    setBefore(shape);
    setLeft(none);
    setFound([]);
  }
  useEffect(() => {
    const whole = element.current;
    if (!whole || text === undefined) {
      return undefined;
    }
    let checker: Checker | undefined; // it is loaded for the first field that is left
    let stopWaiting = () => {};
    let stopLeaving = () => {};
    const tell = (findings: Finding[]) => {
      stopWaiting();
      stopWaiting = whenReleased(() => setFound(findings));
    };
    const leave = ({ target }: FocusEvent) => {
      const pointer = pointerOf(target);
      const { form: field, draft: entered } = latest.current;
      // A window that loses the focus leaves it to its field.
      if (pointer === undefined || target === document.activeElement || !field || !entered) {
        return;
      }
      const value = bounded(read(field, entered).value);
      // What was found before is of another value of this field.
      stopLeaving = whenReleased(() => {
        setLeft((others) => new Set(others).add(pointer));
        setFound((others) => (value === undefined ? [] : others.filter((each) => !isInside(each.pointer, pointer))));
      });
      if (value !== undefined) {
        checker ??= startChecker(tell);
        checker.ask({ schema: text, value });
      }
    };
    const enter = ({ target }: Event) => {
      const pointer = target instanceof Node && whole.contains(target) ? pointerOf(target) : undefined;
      if (pointer !== undefined) {
        setLeft((others) => (others.has(pointer) ? new Set([...others].filter((each) => each !== pointer)) : others));
      }
    };
    whole.addEventListener("focusout", leave);
    // After React has read the field. Before, it would be drawn with its earlier text, and what was typed would be lost.
    document.addEventListener("input", enter);
    return () => {
      whole.removeEventListener("focusout", leave);
      document.removeEventListener("input", enter);
      stopWaiting();
      stopLeaving();
      checker?.end();
    };
  }, [element, text]);
  const wrong = useMemo(
    () => (left.size > 0 && form && draft ? read(form, draft).wrong.filter((each) => each.what !== "missing") : []),
    [left, form, draft],
  );
  return (pointer, below) =>
    (left.has(pointer) ? sayWrong(wrong, pointer, below) : undefined) ?? sayFound(found, left, pointer, below);
}

function pointerOf(target: EventTarget | null): string | undefined {
  const field = target instanceof Element ? target.closest<HTMLElement>("[data-pointer]") : null;
  const pointer = field?.dataset["pointer"];
  return pointer?.startsWith("#") === true ? undefined : pointer; // beside the value
}

/** Which entries there are, and which of several forms are chosen. */
function shapeOf(draft: Draft | undefined): string {
  const of = ({ inside, entries, chosen }: Draft): unknown => [
    inside.length > 0 ? chosen : 0,
    inside.map(of),
    entries.map(({ key, name, draft: inner }) => [key, name, of(inner)]),
  ];
  return draft ? JSON.stringify(of(draft)) : "";
}

let held = false;
const waiting = new Set<() => void>();
const release = () => {
  // After the click that belongs to it.
  setTimeout(() => {
    held = false;
    const all = [...waiting];
    waiting.clear();
    all.forEach((act) => act());
  });
};
document.addEventListener("pointerdown", () => (held = true), true);
document.addEventListener("pointerup", release, true);
document.addEventListener("pointercancel", release, true);

/**
 * Acts as soon as no button of the pointer is down: a text that appears under it would move the button that is being
 * pressed away. It returns what takes that back.
 */
function whenReleased(act: () => void): () => void {
  if (held) {
    waiting.add(act);
  } else {
    act();
  }
  return () => waiting.delete(act);
}
