import { Button, NativeSelect, TextInput } from "@mantine/core";
import { useInfiniteQuery } from "@tanstack/react-query";
import { useVirtualizer } from "@tanstack/react-virtual";
import { useEffect, useRef, useState } from "react";
import { logQuestion, type Level, type LogFilter, type LogLine } from "../../api/detail.ts";
import type { Execution } from "../../api/executions.ts";
import { formatClock } from "../../messages/format.ts";
import { t } from "../../messages/index.ts";
import { executionTexts } from "../../messages/execution.ts";
import { Failure } from "../Notice.tsx";
import { Waiting } from "../Waiting.tsx";
import { plainLine } from "./ansi.ts";

const most = 20_000;
const levels = ["trace", "debug", "info", "warning", "error", "critical"] as const;

/** The log of an execution with search, or of one run of a task. While it grows, new lines follow by themselves. */
export function LogView({ execution, seq }: { execution: Execution; seq?: number }) {
  const texts = executionTexts().log;
  const [text, setText] = useState("");
  const [filter, setFilter] = useState<LogFilter>(seq === undefined ? {} : { seq });
  const [following, setFollowing] = useState(true);
  const log = useInfiniteQuery(logQuestion(execution.id, filter));
  const { hasNextPage, isFetching, isError, fetchNextPage } = log;
  useEffect(() => {
    // The next question waits at the server until there is a line.
    if (following && hasNextPage && !isFetching && !isError) {
      void fetchNextPage();
    }
  }, [following, hasNextPage, isFetching, isError, fetchNextPage]);
  const all = log.data?.pages.flatMap((part) => part.lines) ?? [];
  const lines = all.slice(-most);
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
        </form>
      )}
      {log.error && <Failure error={log.error} retry={() => void log.fetchNextPage()} />}
      {log.isLoading && <Waiting />}
      {all.length > most && <p className="meta">{texts.cut(most)}</p>}
      {log.isSuccess && lines.length === 0 && (
        <p className="meta">
          {filtered ? texts.emptyFiltered : seq === undefined ? texts.empty : executionTexts().inspector.noLog}
        </p>
      )}
      {lines.length > 0 && <Lines lines={lines} following={following} />}
    </>
  );
}

function Lines({ lines, following }: { lines: readonly LogLine[]; following: boolean }) {
  const box = useRef<HTMLDivElement>(null);
  // oxlint-disable-next-line react/incompatible-library
  const virtual = useVirtualizer({
    count: lines.length,
    getScrollElement: () => box.current,
    estimateSize: () => 20,
    overscan: 20,
  });
  useEffect(() => {
    if (following) {
      virtual.scrollToIndex(lines.length - 1);
    }
  }, [following, lines.length, virtual]);
  return (
    // What scrolls has the focus, so that keys move it.
    // oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex
    <div ref={box} className="log" role="log" aria-live="off" aria-label={executionTexts().log.name} tabIndex={0}>
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
                <time dateTime={line.at}>{formatClock(new Date(line.at))}</time>
                <span className="log-level">{executionTexts().log.levels[line.level]}</span>
                <span className="log-text">{plainLine(line.text)}</span>
              </div>
            )
          );
        })}
      </div>
    </div>
  );
}
