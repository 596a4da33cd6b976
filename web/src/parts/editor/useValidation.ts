import { useEffect, useState } from "react";
import { validate, type Validation } from "../../api/definitions.ts";
import { onReturn } from "../../api/connection.ts";
import type { Remark } from "../../editor/code.ts";

/** After the last key. */
const pause = 400;

export interface Checked {
  /** The text that it is about. */
  text: string;
  /** How often it was asked again before. */
  round: number;
  remarks: readonly Remark[];
  graph: Validation["graph"];
  /** Why it could not be checked. */
  error?: unknown;
}

type Fields = Validation["errors"];

export const remarksOf = (severity: Remark["severity"], fields: Fields): Remark[] =>
  fields.map(({ line = 1, column = 1, pointer = "", detail }) => ({ severity, line, column, pointer, detail }));

/**
 * What the server says about a text, once nothing was typed for a moment. The answer about an older text is not waited
 * for. The graph stays that of the last definition without errors.
 */
export function useValidation(text: string): { checked: Checked | undefined; checking: boolean; again: () => void } {
  const [checked, setChecked] = useState<Checked>();
  const [round, setRound] = useState(0);
  useEffect(() => onReturn(() => setRound((last) => last + 1)), []);
  useEffect(() => {
    const abort = new AbortController();
    const timer = setTimeout(async () => {
      try {
        const { errors, warnings, graph } = await validate(text, abort.signal);
        const remarks = [...remarksOf("error", errors), ...remarksOf("warning", warnings)];
        remarks.sort((a, b) => a.line - b.line || a.column - b.column);
        setChecked((before) => ({ text, round, remarks, graph: graph ?? before?.graph }));
      } catch (error) {
        if (!abort.signal.aborted) {
          setChecked((before) => ({ text, round, remarks: [], graph: before?.graph, error }));
        }
      }
    }, pause);
    return () => {
      clearTimeout(timer);
      abort.abort();
    };
  }, [text, round]);
  return { checked, checking: checked?.text !== text || checked.round !== round, again: () => setRound(round + 1) };
}
