import { IconAlertTriangle, IconArrowUp, IconClock, IconStack2, IconUser } from "@tabler/icons-react";
import { Link } from "@tanstack/react-router";
import { isOpen, type Task } from "../../api/tasks.ts";
import { useMe } from "../../api/me.ts";
import { formatDuration, formatExact, formatRelative } from "../../messages/format.ts";
import { tasksTexts } from "../../messages/tasks.ts";
import { useNow } from "../clock.ts";

/** A task in the list. The whole of it leads to the task. */
export function TaskRow({
  task,
  current,
  gone,
  selected,
  select,
}: {
  task: Task;
  current: boolean;
  gone: boolean;
  selected: boolean;
  /** undefined: it cannot be answered together with others. */
  select: ((range: boolean) => void) | undefined;
}) {
  const texts = tasksTexts();
  const me = useMe().user.id;
  const assigned = useAssigned(task);
  const claimant = task.claimed_by;
  return (
    <li className="task-row" data-current={current || undefined} data-gone={gone || undefined}>
      {select && (
        <label className="task-check">
          <input
            type="checkbox"
            aria-label={texts.select(task.title)}
            checked={selected}
            onChange={(event) => select((event.nativeEvent as MouseEvent).shiftKey)}
          />
        </label>
      )}
      <Link
        className="task-link"
        to="/inbox/$taskId"
        params={{ taskId: task.id }}
        search
        activeProps={{}}
        aria-current={current || undefined}
        data-row={task.id}
        resetScroll={false}
      >
        {task.title}
      </Link>
      <span className="task-facts">
        <span className="cut">{task.workflow}</span>
        {gone ? <strong>{texts.gone}</strong> : isOpen(task) && <Due task={task} />}
        <Priority priority={task.priority} />
        {task.batch_id !== undefined && (
          <span className="task-fact">
            <IconStack2 aria-hidden size={14} />
            {task.item_id ?? texts.batch}
          </span>
        )}
      </span>
      <span className="task-facts">
        <Waits task={task} />
        {claimant ? (
          <span className="task-fact">
            <IconUser aria-hidden size={14} />
            {claimant.id === me ? texts.claimedByYou : texts.claimedBy(claimant.name)}
          </span>
        ) : (
          isOpen(task) && <span className="cut">{assigned}</span>
        )}
      </span>
    </li>
  );
}

/** When a task is due. What is overdue says so with an icon, a word and a colour. */
export function Due({ task }: { task: Pick<Task, "due_at" | "status"> }) {
  const texts = tasksTexts();
  const now = useNow();
  if (task.due_at === undefined) {
    return null;
  }
  const due = new Date(task.due_at);
  const late = now.getTime() - due.getTime();
  const overdue = late > 0 && isOpen(task);
  const Icon = overdue ? IconAlertTriangle : IconClock;
  return (
    <time className={overdue ? "task-fact state-error" : "task-fact"} dateTime={task.due_at} title={formatExact(due)}>
      <Icon aria-hidden size={14} />
      {overdue ? texts.overdueBy(formatDuration(late)) : texts.due(formatRelative(due, now))}
    </time>
  );
}

/** What is more or less urgent than usual. */
export function Priority({ priority }: { priority: number }) {
  const texts = tasksTexts();
  if (priority === 50) {
    return null;
  }
  return (
    <span className="task-fact" title={texts.priority(priority)}>
      {priority > 50 && <IconArrowUp aria-hidden size={14} />}
      {priority > 50 ? texts.urgent : texts.later}
    </span>
  );
}

/** Who may answer, in words. The person themselves comes first. */
export function useAssigned(task: Pick<Task, "assignees">): string {
  const texts = tasksTexts();
  const { id, email } = useMe().user;
  const { users, groups } = task.assignees;
  if (users.length + groups.length === 0) {
    return texts.unassigned;
  }
  const isMe = (text: string) => text === id || text.toLowerCase() === email.toLowerCase();
  return texts.assigned([...(users.some(isMe) ? [texts.you] : []), ...groups, ...users.filter((each) => !isMe(each))]);
}

/** When a task was opened, or how and when it ended. */
function Waits({ task }: { task: Task }) {
  const texts = tasksTexts();
  const now = useNow();
  if (task.ended_at !== undefined) {
    const ended = new Date(task.ended_at);
    return (
      <time dateTime={task.ended_at} title={formatExact(ended)}>
        {texts.status[task.status]} {formatRelative(ended, now)}
      </time>
    );
  }
  const created = new Date(task.created_at);
  return (
    <time dateTime={task.created_at} title={formatExact(created)}>
      {texts.opened(formatRelative(created, now))}
    </time>
  );
}
