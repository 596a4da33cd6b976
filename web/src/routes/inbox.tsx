import { Button } from "@mantine/core";
import { useMediaQuery } from "@mantine/hooks";
import { IconArrowLeft, IconArrowUp, IconX } from "@tabler/icons-react";
import { useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { getRouteApi, Link, useNavigate, useParams } from "@tanstack/react-router";
import { Suspense, useEffect, useEffectEvent, useMemo, useRef, useState } from "react";
import { useMay, useMe } from "../api/me.ts";
import { firstPageAgain, patchPages, queries } from "../api/query.ts";
import { dropTask, freshTasksQuestion, isOpen, tasksQuestion, type Task, type TaskFilter } from "../api/tasks.ts";
import { t } from "../messages/index.ts";
import { tasksTexts } from "../messages/tasks.ts";
import { Action } from "../parts/Action.tsx";
import { narrowed, readAddress } from "../parts/inbox/address.ts";
import { FilterBar } from "../parts/inbox/FilterBar.tsx";
import { TaskRow } from "../parts/inbox/Row.tsx";
import { after, differ } from "../parts/inbox/rows.ts";
import { mostSelected, useSelection } from "../parts/inbox/selection.ts";
import { useInboxKeys } from "../parts/inbox/useKeys.ts";
import { Views } from "../parts/inbox/Views.tsx";
import { later } from "../parts/later.tsx";
import { Empty, Failure } from "../parts/Notice.tsx";
import { Page } from "../parts/Page.tsx";
import { focusRow } from "../parts/rows.ts";
import { Waiting } from "../parts/Waiting.tsx";
import "../styles/inbox.css";

const Detail = later(() => import("../parts/inbox/Detail.tsx"));
const Bulk = later(() => import("../parts/inbox/Bulk.tsx"));

const route = getRouteApi("/inbox");

/** How long the page says what was answered. It is in the history of the task, too. */
const shownFor = 10_000;

/** Tasks of people: which there are, and the one that is open. */
export default function Inbox() {
  const search = route.useSearch();
  const { taskId } = useParams({ strict: false });
  const navigate = useNavigate();
  const me = useMe().user.id;
  const texts = tasksTexts();
  const filter = useMemo(() => readAddress({ ...search }), [search]);
  const listing = useTasks(filter);
  const { rows, gone, newer, asked, refresh } = listing;
  const narrow = useMediaQuery("(max-width: 699px)", undefined, { getInitialValueInEffect: false });
  const order = useMemo(() => rows.map((row) => row.id), [rows]);
  const selection = useSelection(order, JSON.stringify(filter));
  const [bulk, setBulk] = useState(false);
  const selecting = useMay()("tasks:respond") && filter.view !== "done";
  const [done, setDone] = useState<{ id: string; text: string }>();

  const open = (id: string, focus: boolean) => {
    if (focus) {
      focusRow(id);
    }
    void navigate({ to: "/inbox/$taskId", params: { taskId: id }, search: true, replace: true, resetScroll: false });
  };
  const close = () => void navigate({ to: "/inbox", search: true, replace: true, resetScroll: false });
  const free = (row: Task) =>
    !gone.has(row.id) &&
    isOpen(row) &&
    row.refused === undefined &&
    (row.claimed_by === undefined || row.claimed_by.id === me);
  const next = () => {
    const found = after(rows, taskId ?? "", free);
    if (found) {
      open(found.id, true);
    }
  };
  useInboxKeys({
    move: (step) => {
      const at = rows.findIndex((row) => row.id === taskId);
      const to = rows[at < 0 ? 0 : Math.min(rows.length - 1, Math.max(0, at + step))];
      if (to) {
        open(to.id, true);
      }
    },
    next,
    refresh,
    select: selecting && taskId !== undefined ? (range) => selection.toggle(taskId, range) : undefined,
  });
  const checking = useClearing(filter, taskId, asked.isFetching ? undefined : rows, close);

  useEffect(() => {
    const timer = done && setTimeout(() => setDone(undefined), shownFor);
    return () => clearTimeout(timer);
  }, [done]);
  const answered = (task: Task, text: string) => {
    setDone({ id: task.id, text });
    dropTask(task.id);
  };
  const onward = (task: Task) => {
    if (!location.pathname.endsWith(task.id)) {
      return; // the person has gone to another one since
    }
    const following = after(rows, task.id, free);
    if (following) {
      open(following.id, true);
    } else {
      close();
      document.querySelector<HTMLElement>(".inbox-list")?.focus();
    }
  };
  return (
    <Page title={t().nav.inbox}>
      <div className="inbox" data-open={taskId !== undefined || undefined}>
        <Views filter={filter} leave={checking} />
        <div className="inbox-bar">
          <FilterBar
            key={JSON.stringify(filter)}
            filter={filter}
            workflows={useMemo(() => rows.map((row) => row.workflow), [rows])}
            apply={(to) => {
              checking();
              void navigate({ to: ".", search: { ...to } as never, resetScroll: false });
            }}
          />
        </div>
        <section className="inbox-list" aria-label={texts.list} tabIndex={-1}>
          <div aria-live="polite">
            {newer > 0 && (
              <Button leftSection={<IconArrowUp aria-hidden size={14} />} title={texts.refresh} onClick={refresh}>
                {texts.changed(newer)}
              </Button>
            )}
          </div>
          {selection.ids.length > 0 && (
            <div className="inbox-selection" role="group" aria-label={texts.selected(selection.ids.length)}>
              <strong role="status">
                {texts.selected(selection.ids.length)}
                {selection.ids.length >= mostSelected && ` ${texts.most(mostSelected)}`}
              </strong>
              <Action onClick={() => setBulk(true)}>{texts.answerSelected}</Action>
              <Button variant="subtle" onClick={selection.clear}>
                {texts.selectNone}
              </Button>
            </div>
          )}
          {asked.error && <Failure error={asked.error} retry={() => void asked.refetch()} />}
          {asked.isLoading && <Waiting />}
          {asked.isSuccess && rows.length === 0 && <Nothing filter={filter} />}
          {rows.length > 0 && (
            <ul className="plain">
              {rows.map((row) => (
                <TaskRow
                  key={row.id}
                  task={row}
                  current={row.id === taskId}
                  gone={gone.has(row.id)}
                  selected={selection.ids.includes(row.id)}
                  select={selecting ? (range) => selection.toggle(row.id, range) : undefined}
                />
              ))}
            </ul>
          )}
          {asked.hasNextPage && (
            <div className="below">
              <Button variant="default" loading={asked.isFetchingNextPage} onClick={() => void asked.fetchNextPage()}>
                {t().more}
              </Button>
            </div>
          )}
        </section>
        <div className="inbox-detail">
          {taskId === undefined ? (
            <div className="inbox-choose">
              <p>{texts.choose}</p>
              <p className="meta">{texts.keys}</p>
            </div>
          ) : (
            <>
              <Link className="inbox-back" to="/inbox" search resetScroll={false} activeProps={{}}>
                <IconArrowLeft aria-hidden size={16} />
                {texts.back}
              </Link>
              <Suspense fallback={<Waiting />}>
                <Detail
                  key={taskId}
                  id={taskId}
                  alone={narrow}
                  answered={(task, outcome) => answered(task, texts.answered(task.title, outcome.title))}
                  onward={onward}
                  next={next}
                />
              </Suspense>
            </>
          )}
        </div>
      </div>
      <Suspense>
        {bulk && (
          <Bulk
            tasks={rows.filter((row) => selection.ids.includes(row.id))}
            answered={(ids) => {
              selection.clear();
              ids.forEach(dropTask);
              if (taskId !== undefined && ids.includes(taskId)) {
                close();
              }
            }}
            close={() => setBulk(false)}
          />
        )}
      </Suspense>
      <div role="status" className="toast-place">
        {done && (
          <p className="toast">
            <span>{done.text}</span>
            <Link to="/inbox/$taskId" params={{ taskId: done.id }} search activeProps={{}}>
              {texts.show}
            </Link>
            <Button variant="subtle" size="compact-sm" aria-label={t().close} onClick={() => setDone(undefined)}>
              <IconX aria-hidden size={14} />
            </Button>
          </p>
        )}
      </div>
    </Page>
  );
}

/** The tasks of a filter. Rows change in place; what is new waits, and what is gone stays until the list is shown anew. */
function useTasks(filter: TaskFilter) {
  const question = tasksQuestion(filter);
  const asked = useInfiniteQuery(question);
  const fresh = useQuery({ ...freshTasksQuestion(filter), enabled: asked.isSuccess });
  const rows = useMemo(() => asked.data?.pages.flatMap((page) => page.data) ?? [], [asked.data]);
  const refresh = () => {
    firstPageAgain(question.queryKey);
    void asked.refetch().then(() => queries.resetQueries({ queryKey: freshTasksQuestion(filter).queryKey }));
  };
  const take = useEffectEvent((now: readonly Task[]) => {
    patchPages(question.queryKey, now);
    if (rows.length === 0 && now.length > 0) {
      refresh(); // nothing moves
    }
  });
  useEffect(() => {
    if (fresh.data) {
      take(fresh.data.data);
    }
  }, [fresh.data]);
  const { newer, gone } = useMemo(
    () => differ(rows, fresh.data?.data ?? rows, fresh.data ? fresh.data.cursor === null : false),
    [rows, fresh.data],
  );
  return { asked, rows, newer: asked.isFetching ? 0 : newer, gone, refresh };
}

/**
 * Closes a task that is not in the list after the person has changed the filter. Opening a task never changes the
 * filter. The function that is returned is called when the filter is about to change.
 */
function useClearing(
  filter: TaskFilter,
  taskId: string | undefined,
  rows: readonly Task[] | undefined,
  close: () => void,
): () => void {
  const now = JSON.stringify(filter);
  const before = useRef<string>(undefined);
  const look = useEffectEvent((shown: string, list: readonly Task[] | undefined) => {
    if (list && before.current !== undefined && before.current !== shown) {
      before.current = undefined;
      if (taskId !== undefined && !list.some((row) => row.id === taskId)) {
        close();
      }
    }
  });
  useEffect(() => look(now, rows), [now, rows]);
  return () => {
    before.current = now;
  };
}

function Nothing({ filter }: { filter: TaskFilter }) {
  const texts = tasksTexts();
  if (!narrowed(filter)) {
    return <Empty text={texts.empty[filter.view ?? "mine"]} />;
  }
  return (
    <Empty text={texts.emptyFiltered}>
      <Link to="/inbox" search={filter.view === undefined ? {} : { view: filter.view }}>
        {t().list.clear}
      </Link>
    </Empty>
  );
}
