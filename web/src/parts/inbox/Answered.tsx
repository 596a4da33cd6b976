import { Button } from "@mantine/core";
import type { Answer, Task } from "../../api/tasks.ts";
import { tasksTexts } from "../../messages/tasks.ts";
import { read } from "../form/read.ts";
import { When } from "../Time.tsx";
import type { Entering } from "./draft.ts";
import { formOfTask } from "./draft.ts";
import { Files } from "./Files.tsx";
import { Values } from "./Values.tsx";

export const titleOf = (task: Task, outcome: string): string =>
  task.outcomes?.find((each) => each.name === outcome)?.title ?? outcome;

/** Who has answered what, in one sentence. */
export function answeredText(task: Task, answer: Answer, me: string): string {
  const texts = tasksTexts();
  const outcome = titleOf(task, answer.outcome);
  return answer.by.id === me ? texts.answeredByYou(outcome) : texts.answeredBy(answer.by.name, outcome);
}

/** The answer of a task that has one. What the person had typed meanwhile stands beside it. */
export function Answered({
  task,
  answer,
  me,
  entering,
  next,
}: {
  task: Task;
  answer: Answer;
  me: string;
  entering: Entering;
  next: () => void;
}) {
  const texts = tasksTexts();
  const lost = entering.kept !== undefined && answer.by.id !== me;
  const form = formOfTask(task);
  const { draft, comment, files } = entering.entered;
  const theirs = <One task={task.id} data={answer.data} comment={answer.comment} files={answer.files} />;
  if (!lost) {
    return (
      <section className="task-answer">
        <h3>{answeredText(task, answer, me)}</h3>
        <p className="meta">
          <When at={answer.at} /> {answer.by.via.kind === "key" && texts.byKey}
          {answer.by.via.kind === "event" && texts.byEvent}
        </p>
        {!answer.used && <p className="complaint">{texts.notUsed}</p>}
        {theirs}
      </section>
    );
  }
  return (
    <section className="task-answer">
      <div role="alert" className="alert">
        <div>
          <strong>{texts.conflict(answer.by.name, titleOf(task, answer.outcome))}</strong>
          <p>
            {texts.conflictHelp}{" "}
            <span className="meta">
              <When at={answer.at} />
            </span>
          </p>
          <div className="row">
            <Button onClick={next}>{texts.nextTask}</Button>
            <Button variant="default" onClick={entering.discard}>
              {texts.dropMine}
            </Button>
          </div>
        </div>
      </div>
      <div className="task-beside">
        <section>
          <h3>{texts.theirs}</h3>
          {theirs}
        </section>
        <section>
          <h3>{texts.mine}</h3>
          <One task={task.id} data={form && draft && read(form, draft).value} comment={comment} files={files} />
        </section>
      </div>
    </section>
  );
}

function One({
  task,
  data,
  comment,
  files,
}: {
  task: string;
  data: unknown;
  comment: string | undefined;
  files: readonly unknown[] | undefined;
}) {
  const texts = tasksTexts();
  return (
    <>
      {data !== undefined && data !== null && <Values value={data} name={texts.form} />}
      {comment !== undefined && comment !== "" && <p className="task-comment">{comment}</p>}
      {files !== undefined && files.length > 0 && <Files files={files} task={task} />}
    </>
  );
}
