import { Button } from "@mantine/core";
import { IconAlertOctagon, IconCircleCheck, IconCircleDashed, IconCircleX } from "@tabler/icons-react";
import type { Tested, TestResult } from "../../api/tests.ts";
import { formatDuration } from "../../messages/format.ts";
import { testsTexts } from "../../messages/tests.ts";
import { Copy } from "../Copy.tsx";

const icons = { passed: IconCircleCheck, failed: IconCircleX, error: IconAlertOctagon, skipped: IconCircleDashed };

type Go = (line: number, column: number) => void;

/** What came of tests. Each failure leads to its line, and so does what no test has run. */
export function TestResults({
  tested,
  stale,
  toTests,
  toDefinition,
}: {
  tested: Tested | undefined;
  stale: boolean;
  toTests: Go;
  toDefinition: (line: number) => void;
}) {
  const texts = testsTexts();
  const coverage = tested?.coverage;
  const missed = tested ? missedIn(tested) : [];
  return (
    <section className="problems test-results" aria-label={texts.results}>
      <div role="status">
        <h2>{tested ? texts.summary(tested.tests, tested.failed, tested.broken, tested.skipped) : texts.none}</h2>
        {stale && <p className="meta">{texts.stale}</p>}
        {coverage && (
          <p className="meta">
            {texts.covered(coverage.tasks_run, coverage.tasks, coverage.branches_run, coverage.branches)}
          </p>
        )}
      </div>
      <ul>
        {tested?.results.map((result) => (
          <li key={result.name}>
            <Result result={result} go={toTests} />
          </li>
        ))}
      </ul>
      {missed.length > 0 && (
        <>
          <h2>{texts.missing}</h2>
          <ul>
            {missed.map(({ line, name }) => (
              <li key={`${line} ${name}`}>
                <Button variant="subtle" size="compact-sm" onClick={() => toDefinition(line)}>
                  {texts.place(line)} {name}
                </Button>
              </li>
            ))}
          </ul>
        </>
      )}
      {tested?.cut === true && <p className="meta">{texts.cut}</p>}
    </section>
  );
}

function Result({ result, go }: { result: TestResult; go: Go }) {
  const texts = testsTexts();
  const { status } = result;
  const Icon = icons[status];
  return (
    <>
      <Button variant="subtle" size="compact-sm" onClick={() => go(result.line, 1)}>
        <span className={`problem test-${status}`}>
          <Icon aria-hidden size={16} />
          <span>{texts.status[status]}</span>
          <span className="problem-text">
            {result.name}{" "}
            <span className="meta">
              {result.reason ?? (result.elapsed_ms > 0 ? texts.after(formatDuration(result.elapsed_ms)) : "")}
            </span>
          </span>
        </span>
      </Button>
      {result.failures.map((failure) => (
        <div key={`${failure.line} ${failure.expectation}`} className="test-failure">
          <Button variant="subtle" size="compact-sm" onClick={() => go(failure.line, failure.column)}>
            <span>
              {texts.place(failure.line)} <code>{failure.expectation}</code>
            </span>
          </Button>
          <dl className="facts">
            <dt>{texts.want}</dt>
            <dd>
              <code>{shown(failure, "want")}</code>
            </dd>
            <dt>{texts.got}</dt>
            <dd>
              <code>{shown(failure, "got")}</code>
            </dd>
          </dl>
          {failure.note !== undefined && <p className="meta">{failure.note}</p>}
        </div>
      ))}
      {result.broken && (
        <div className="test-failure">
          <p>{result.broken.detail}</p>
          {result.broken.stub !== undefined && (
            <>
              <p className="meta">
                {texts.paste} <Copy text={result.broken.stub} what={texts.mock} />
              </p>
              <pre className="json" aria-label={texts.mock}>
                {result.broken.stub}
              </pre>
            </>
          )}
        </div>
      )}
      {result.warnings.map((warning) => (
        <p key={warning.detail} className="meta">
          {texts.warning}: {warning.detail}
        </p>
      ))}
    </>
  );
}

const longest = 500;

/** A value in one line, or that there is none. */
function shown(failure: TestResult["failures"][number], side: "want" | "got"): string {
  if (!(side in failure)) {
    return testsTexts().nothing;
  }
  const text = JSON.stringify(failure[side]);
  return text.length > longest ? `${text.slice(0, longest)}…` : text;
}

/** Tasks of the definition that were not started, and ways that were not taken at others. */
function missedIn(tested: Tested): { line: number; name: string }[] {
  const own = tested.coverage.definitions.find((each) => each.file === "definition");
  return (own?.tasks ?? []).flatMap(({ task, line, hits, branches }) =>
    hits === 0
      ? [{ line, name: task }]
      : branches
          .filter((branch) => branch.hits === 0)
          .map((branch) => ({ line: branch.line, name: testsTexts().missingWay(branch.name, task) })),
  );
}
