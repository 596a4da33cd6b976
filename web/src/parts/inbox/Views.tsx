import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { taskCountsQuestion, views, type TaskFilter, type View } from "../../api/tasks.ts";
import { tasksTexts } from "../../messages/tasks.ts";

/** The views of the inbox, with how many tasks are open in each. What is narrowed down stays so. */
export function Views({ filter, leave }: { filter: TaskFilter; leave: () => void }) {
  const texts = tasksTexts();
  const counts = useQuery(taskCountsQuestion(5)).data;
  const { view: shown = "mine", ...rest } = filter;
  const count = (view: View) => (view === "done" ? undefined : counts?.[view]);
  return (
    <nav className="inbox-views" aria-label={texts.views}>
      {views.map((view) => {
        const number = count(view);
        return (
          <Link
            key={view}
            to="."
            search={view === "mine" ? rest : { ...rest, view }}
            activeOptions={{ exact: true }}
            aria-current={view === shown ? "page" : undefined}
            resetScroll={false}
            onClick={leave}
          >
            {texts.view[view]}{" "}
            {number !== undefined && (
              <span className="inbox-count">{texts.counted(number.count, number.at_least)}</span>
            )}
          </Link>
        );
      })}
    </nav>
  );
}
