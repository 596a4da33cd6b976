import { Button, NativeSelect, TextInput } from "@mantine/core";
import { useDocumentVisibility } from "@mantine/hooks";
import { useInfiniteQuery, useMutation, useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useVirtualizer } from "@tanstack/react-virtual";
import { useEffect, useMemo, useRef, useState } from "react";
import {
  hundredOf,
  joinLog,
  logQuestion,
  runsAfterQuestion,
  type Level,
  type LogFilter,
  type LogLine,
} from "../../api/detail.ts";
import type { Execution } from "../../api/executions.ts";
import { formatClock } from "../../messages/format.ts";
import { t } from "../../messages/index.ts";
import { executionTexts } from "../../messages/execution.ts";
import { shortId } from "../Copy.tsx";
import { Failure } from "../Notice.tsx";
import { save } from "../save.ts";
import { Waiting } from "../Waiting.tsx";
import { spansOf } from "./ansi.ts";
import { namesOf, runName, runsOf, textOf } from "./runname.ts";

const most = 20_000;
const levels = ["trace", "debug", "info", "warning", "error", "critical"] as const;

/** The log of an execution with search, or of one run of a task. While it grows, new lines follow by themselves. */
export function LogView({ execution, seq }: { execution: Execution; seq?: number }) {
  const texts = executionTexts().log;
  const [text, setText] = useState("");
  const [filter, setFilter] = useState<LogFilter>(seq === undefined ? {} : { seq });
  const [following, setFollowing] = useState(true);
  const [wrap, setWrap] = useState(true);
  const [times, setTimes] = useState(true);
  const log = useInfiniteQuery(logQuestion(execution.id, filter));
  const { data, hasNextPage, isFetching, isError, fetchNextPage } = log;
  useEffect(() => joinLog(execution.id, filter, data, most), [execution.id, filter, data]);
  const seen = useDocumentVisibility() !== "hidden";
  useEffect(() => {
    // The next question waits at the server until there is a line. A page that is not seen asks nothing.
    if (following && seen && hasNextPage && !isFetching && !isError) {
      void fetchNextPage();
    }
  }, [following, seen, hasNextPage, isFetching, isError, fetchNextPage]);
  const all = useMemo(() => data?.pages.flatMap((part) => part.lines) ?? [], [data]);
  const lines = useMemo(() => all.slice(-most), [all]);
  const cut = all.length > most || data?.pages[0]?.cut === true;
  const download = useMutation({
    mutationFn: async (chosen: readonly LogLine[]) => {
      const names = await namesOf(chosen, runsOf(execution.id));
      save(new Blob([textOf(chosen, names)], { type: "text/plain" }), `${shortId(execution.id)}.log`);
    },
  });
  const filtered = filter.q !== undefined || filter.level !== undefined;
  return (
    <>
      {seq === undefined && (
        <form
          className="filters"
          onSubmit={(event) => {
            event.preventDefault();
            const { q: _, ...rest } = filter;
            setFilter(text === "" ? rest : { ...rest, q: text });
          }}
        >
          <TextInput
            className="text"
            data-search
            label={texts.search}
            value={text}
            maxLength={200}
            onChange={(event) => setText(event.currentTarget.value)}
          />
          <NativeSelect
            label={texts.level}
            value={filter.level ?? "trace"}
            onChange={(event) => setFilter({ ...filter, level: event.currentTarget.value as Level })}
            data={levels.map((level) => ({ value: level, label: texts.levels[level] }))}
          />
          <Button type="submit" variant="default">
            {t().list.apply}
          </Button>
          <label className="check">
            <input
              type="checkbox"
              checked={following}
              onChange={(event) => setFollowing(event.currentTarget.checked)}
            />
            {texts.follow}
          </label>
          <label className="check">
            <input type="checkbox" checked={wrap} onChange={(event) => setWrap(event.currentTarget.checked)} />
            {texts.wrap}
          </label>
          <label className="check">
            <input type="checkbox" checked={times} onChange={(event) => setTimes(event.currentTarget.checked)} />
            {texts.times}
          </label>
          <Button
            variant="default"
            disabled={lines.length === 0}
            loading={download.isPending}
            onClick={() => download.mutate(lines)}
          >
            {texts.download}
          </Button>
        </form>
      )}
      {download.error && <Failure error={download.error} />}
      {log.error && <Failure error={log.error} retry={() => void log.fetchNextPage()} />}
      {log.isLoading && <Waiting />}
      {cut && <p className="meta">{texts.cut(most)}</p>}
      {log.isSuccess && lines.length === 0 && (
        <p className="meta">
          {filtered ? texts.emptyFiltered : seq === undefined ? texts.empty : executionTexts().inspector.noLog}
        </p>
      )}
      {lines.length > 0 && (
        <Lines
          lines={lines}
          following={following}
          wrap={wrap}
          times={times}
          whole={seq === undefined ? execution.id : undefined}
        />
      )}
    </>
  );
}

function Lines({
  lines,
  following,
  wrap,
  times,
  whole,
}: {
  lines: readonly LogLine[];
  following: boolean;
  wrap: boolean;
  times: boolean;
  /** The execution, where each line names its task: in the log of all. */
  whole: string | undefined;
}) {
  const box = useRef<HTMLDivElement>(null);
  // oxlint-disable-next-line react/incompatible-library
  const virtual = useVirtualizer({
    count: lines.length,
    getScrollElement: () => box.current,
    estimateSize: () => (whole === undefined ? 20 : 24),
    overscan: 20,
  });
  useEffect(() => {
    if (following) {
      virtual.scrollToIndex(lines.length - 1);
    }
  }, [following, lines.length, virtual]);
  return (
    <div
      ref={box}
      className="log"
      data-wrap={wrap || undefined}
      data-named={whole !== undefined || undefined}
      role="log"
      aria-live="off"
      aria-label={executionTexts().log.name}
      // What scrolls has the focus, so that keys move it.
      // oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex
      tabIndex={0}
    >
      <div style={{ height: virtual.getTotalSize(), position: "relative" }}>
        {virtual.getVirtualItems().map((item) => {
          const line = lines[item.index];
          return (
            line && (
              <div
                key={item.key}
                ref={virtual.measureElement}
                data-index={item.index}
                className={`log-line log-${line.level}`}
                style={{ transform: `translateY(${item.start}px)` }}
              >
                {times && <time dateTime={line.at}>{formatClock(new Date(line.at))}</time>}
                <span className="log-level">{executionTexts().log.levels[line.level]}</span>
                {whole !== undefined &&
                  (line.seq === null ? (
                    <span className="log-task" />
                  ) : (
                    <TaskName key={line.seq} id={whole} seq={line.seq} />
                  ))}
                <span className="log-text">
                  {spansOf(line.text).map(({ at, text, colour, bold }) => (
                    <span key={at} data-colour={colour} data-bold={bold}>
                      {text}
                    </span>
                  ))}
                </span>
              </div>
            )
          );
        })}
      </div>
    </div>
  );
}

/** The task that has written a line, which leads to its run. The timeline may have dropped it: then there is no name. */
function TaskName({ id, seq }: { id: string; seq: number }) {
  const first = hundredOf(seq);
  const near = useQuery(runsAfterQuestion(id, first)).data;
  const known = near?.find((run) => run.seq === seq);
  // It began after these were asked for.
  const missed = near !== undefined && known === undefined && seq - 1 !== first;
  const later = useQuery({ ...runsAfterQuestion(id, seq - 1), enabled: missed }).data;
  const run = known ?? later?.find((each) => each.seq === seq);
  if (!run) {
    return <span className="log-task" />;
  }
  const name = runName(run);
  return (
    <Link
      className="log-task"
      to="/executions/$id"
      params={{ id }}
      search={{ task: run.reference, seq: String(seq) }}
      preload={false}
      title={name}
    >
      {name}
    </Link>
  );
}
