import { Button } from "@mantine/core";
import { useBlocker, useNavigate } from "@tanstack/react-router";
import { Suspense, useCallback, useEffect, useEffectEvent, useMemo, useRef, useState } from "react";
import { isLost, onReturn } from "../../api/connection.ts";
import type { Base } from "../../api/definitions.ts";
import { environment } from "../../api/environment.ts";
import type { CoveredTask } from "../../api/tests.ts";
import { useMay, useMe } from "../../api/me.ts";
import type { Code } from "../../editor/code.ts";
import type { Named } from "../../editor/path.ts";
import { definitionTexts } from "../../messages/definition.ts";
import { t } from "../../messages/index.ts";
import { Dialog } from "../Dialog.tsx";
import { later } from "../later.tsx";
import { Failure } from "../Notice.tsx";
import { Waiting } from "../Waiting.tsx";
import { Bar } from "./Bar.tsx";
import { CodeField } from "./CodeField.tsx";
import { keep, placeOf, readKept } from "./kept.ts";
import { useSaving, type Saved } from "./useSaving.ts";
import { useValidation } from "./useValidation.ts";
import "../../styles/editor.css";

const Problems = later(() => import("./Problems.tsx"));
const Beside = later(() => import("./Beside.tsx"));
const Unsaved = later(() => import("./Unsaved.tsx"));
const Tests = later(() => import("./Tests.tsx"));
const Expression = later(() => import("./Expression.tsx"));
const Publish = later(() => import("./Publish.tsx"));
const Conflict = later(() => import("./Conflict.tsx"));
const TaskDialog = later(() => import("./TaskDialog.tsx"));

const sides = ["graph", "tests", "expression", "nothing"] as const;

/** The editor of a definition, with what the server says about it, its graph, and a place to try expressions. */
export default function Workbench({
  fresh,
  name,
  sample,
  dropped,
  saved,
  done,
}: {
  /** What the server has, or a template. */
  fresh: Base;
  /** Namespace and name of the workflow; undefined: it is a new one. */
  name: string | undefined;
  /** The input of a task, to try expressions with. */
  sample?: unknown;
  /** The text of a file, which takes the place of what there is at first. Undoing brings that back. */
  dropped?: string | undefined;
  saved: (saved: Saved) => void;
  done: () => void;
}) {
  const texts = definitionTexts().editor;
  const may = useMay();
  const me = useMe();
  const [place] = useState(() => placeOf(me.user?.id ?? "", name)); // also once the page is of another environment
  const [before] = useState(() => {
    const found = readKept(place);
    return found && found.text !== fresh.text ? found : undefined;
  });
  const [kept, setKept] = useState(dropped === undefined ? before : undefined);
  const [first] = useState(before?.text ?? fresh.text);
  const [text, setText] = useState(first);
  const code = useRef<Code>(null);
  const ready = useCallback(
    (made: Code | null) => {
      code.current = made;
      if (dropped !== undefined) {
        made?.replace(dropped);
      }
    },
    [dropped],
  );
  const saving = useSaving({ code, first: before?.base ?? fresh, name });
  const { base } = saving;
  const { checked, checking, again } = useValidation(text);
  const refused = saving.refused(text);
  const remarks = useMemo(() => [...refused, ...(checked?.remarks ?? [])], [refused, checked]);
  const change = (next: string) => {
    setText(next);
    saving.tell("");
  };
  const sendable = useEffectEvent(() => {
    if (saving.status === t().connection.held) {
      saving.tell("");
    }
  });
  useEffect(() => onReturn(() => sendable()), []);
  const [side, setSide] = useState<(typeof sides)[number]>(sample === undefined ? "graph" : "expression");
  const [opened, setOpened] = useState<readonly string[]>([side]); // what is typed there stays
  const [covered, setCovered] = useState<{ text: string; tasks: ReadonlyMap<string, CoveredTask> }>();
  const [at, setAt] = useState("");
  const [publishing, setPublishing] = useState<Named>();
  const [room, setRoom] = useState(true);
  const [seeking, setSeeking] = useState<"go" | "rename">(); // a task
  const dirty = text !== base.text;
  const isDirty = useRef(dirty);
  useEffect(() => {
    isDirty.current = dirty;
  }, [dirty]);

  useEffect(() => code.current?.mark(remarks), [remarks]);

  // What is not saved stays in this browser.
  const store = useEffectEvent((found: { text: string; base: Base }) => {
    setRoom(keep(place, isDirty.current ? { ...found, at: new Date().toISOString() } : undefined));
  });
  const leave = useEffectEvent(() => store({ text, base }));
  useEffect(() => {
    const timer = setTimeout(() => store({ text, base }), 300);
    return () => clearTimeout(timer);
  }, [text, base]);
  useEffect(() => {
    const listen = () => leave();
    addEventListener("pagehide", listen);
    return () => {
      removeEventListener("pagehide", listen);
      listen();
    };
  }, []);

  const blocker = useBlocker({
    shouldBlockFn: ({ current, next }) => isDirty.current && pageOf(current) !== pageOf(next),
    enableBeforeUnload: () => isDirty.current,
    withResolver: true,
  });

  const navigate = useNavigate();
  const send = async (draft: boolean, message?: string) => {
    const sent = code.current?.text;
    const found = await saving.send(draft, message);
    if (found.saved) {
      isDirty.current = code.current?.text !== sent;
      setKept(undefined);
      saved(found.saved);
    }
    return found;
  };
  const runsIn = dirty || base.draft ? "test" : environment(); // live runs what is published
  const mayRun = me.environments.includes(runsIn) && me.scopes[runsIn].includes("executions:create");
  const run = async () => {
    if (!mayRun) {
      return;
    }
    const found = dirty || base.tag === undefined ? (await send(true)).saved?.name : saving.known;
    if (found !== undefined) {
      const [namespace = "", own = ""] = found.split("/");
      const search = { tab: "run", env: runsIn === "test" ? "test" : undefined };
      void navigate({ to: "/workflows/$namespace/$name", params: { namespace, name: own }, search: search as never });
    }
  };
  const publish = () => {
    const error = remarks.find((remark) => remark.severity === "error");
    if (error) {
      code.current?.goTo(error.line, error.column);
      saving.tell(texts.notYet);
    } else {
      setPublishing(code.current?.named);
    }
  };
  const mayPublish = may("workflows:publish");
  const press = useEffectEvent((event: KeyboardEvent) => {
    if (document.querySelector("[role=dialog]")) {
      return;
    }
    if (event.key === "F2" && (event.target as Element).closest(".workbench-text")) {
      event.preventDefault();
      setSeeking("rename");
      return;
    }
    if (event.key === "F1") {
      event.preventDefault();
      void import("../../editor/hover.ts").then(({ openPage }) => code.current && openPage(code.current.written));
      return;
    }
    if (!(event.ctrlKey || event.metaKey) || event.altKey) {
      return;
    }
    const key = event.key.toLowerCase();
    if (isLost() && (key === "s" || key === "enter")) {
      event.preventDefault();
      saving.tell(t().connection.held);
    } else if (key === "p" && !event.shiftKey && !saving.conflict) {
      event.preventDefault();
      setSeeking("go");
    } else if (key === "s") {
      event.preventDefault();
      if (saving.conflict) {
        return;
      }
      if (!event.shiftKey) {
        void send(true);
      } else if (mayPublish) {
        publish();
      }
    } else if (key === "enter" && !(event.target as Element).matches("textarea")) {
      event.preventDefault();
      void run();
    }
  });
  useEffect(() => {
    const listen = (event: KeyboardEvent) => press(event);
    addEventListener("keydown", listen);
    return () => removeEventListener("keydown", listen);
  }, []);

  const read = useCallback(async (file: File) => code.current?.replace(await file.text()), []);
  return (
    <div className="workbench">
      <Bar
        hidden={saving.conflict !== undefined}
        base={base}
        dirty={dirty}
        busy={saving.busy}
        save={() => void send(true)}
        publish={mayPublish ? publish : undefined}
        run={mayRun ? () => void run() : undefined}
        read={(file) => void read(file)}
        done={done}
      />
      <div role="status">{saving.status !== "" && <p className="saved">{saving.status}</p>}</div>
      {saving.error !== undefined && <Failure error={saving.error} />}
      {!room && <p className="alert">{texts.noRoom}</p>}
      {kept && (
        <Suspense>
          <Unsaved
            at={kept.at}
            discard={() => {
              code.current?.replace(fresh.text);
              saving.begin(fresh);
              setKept(undefined);
            }}
          />
        </Suspense>
      )}
      {saving.conflict && (
        <Suspense fallback={<Waiting />}>
          <Conflict
            theirs={saving.conflict}
            mine={text}
            base={base}
            resolve={(next) => {
              if (next !== code.current?.text) {
                code.current?.replace(next);
              }
              saving.resolve();
              code.current?.focus();
            }}
          />
        </Suspense>
      )}
      <div hidden={saving.conflict !== undefined}>
        <div className="row beside" role="group" aria-label={texts.beside}>
          {sides.map((each) => (
            <Button
              key={each}
              size="compact-sm"
              variant={each === side ? "filled" : "default"}
              aria-pressed={each === side}
              onClick={() => {
                setSide(each);
                setOpened([...opened, each]);
              }}
            >
              {texts.sides[each]}
            </Button>
          ))}
          {(["go", "rename"] as const).map((each) => (
            <Button key={each} size="compact-sm" variant="default" onClick={() => setSeeking(each)}>
              {texts.tasks[each]}
            </Button>
          ))}
        </div>
        <div className="workbench-parts" data-beside={side !== "nothing" || undefined}>
          <div className="workbench-text">
            <CodeField first={first} ready={ready} changed={change} moved={setAt} dropped={(file) => void read(file)} />
            <Suspense>
              <Problems
                remarks={remarks}
                checking={checking}
                error={checked?.error}
                again={again}
                go={(remark) => code.current?.goTo(remark.line, remark.column)}
              />
            </Suspense>
          </div>
          <div hidden={side !== "expression"}>
            <Suspense fallback={<Waiting />}>
              {opened.includes("expression") && <Expression sample={sample} />}
            </Suspense>
          </div>
          <div hidden={side !== "tests"}>
            <Suspense fallback={<Waiting />}>
              {opened.includes("tests") && (
                <Tests
                  Field={CodeField}
                  definition={text}
                  place={place}
                  name={() => code.current?.named.name ?? ""}
                  covered={setCovered}
                  go={(line) => code.current?.goTo(line, 1)}
                />
              )}
            </Suspense>
          </div>
          {side === "graph" && (
            <div className="workbench-graph">
              {checked?.graph ? (
                <Suspense fallback={<Waiting />}>
                  <Beside
                    graph={checked.graph}
                    covered={covered?.text === text ? covered.tasks : undefined}
                    at={at}
                    select={(id) => code.current?.goToPointer(id)}
                  />
                </Suspense>
              ) : (
                <p className="meta">{texts.noGraph}</p>
              )}
            </div>
          )}
        </div>
      </div>
      <Suspense>
        {seeking && <TaskDialog what={seeking} code={code} close={() => setSeeking(undefined)} tell={saving.tell} />}
      </Suspense>
      {publishing && (
        <Suspense>
          <Publish
            named={publishing}
            before={base}
            send={(message) => send(false, message)}
            close={() => setPublishing(undefined)}
          />
        </Suspense>
      )}
      {blocker.status === "blocked" && (
        <Dialog title={texts.leaveTitle} close={blocker.reset}>
          <p>{room ? texts.leaveText : texts.leaveWithout}</p>
          <div className="row">
            <Button onClick={blocker.reset}>{texts.stay}</Button>
            <Button variant="default" onClick={blocker.proceed}>
              {texts.leave}
            </Button>
          </div>
        </Dialog>
      )}
    </div>
  );
}

/** What of an address says which text is written. */
function pageOf({ pathname, search }: { pathname: string; search: unknown }): string {
  const { env, mode } = search as { env?: string; mode?: string };
  return JSON.stringify([pathname, env, mode]);
}
