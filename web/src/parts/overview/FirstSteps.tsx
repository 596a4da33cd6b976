import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { environment } from "../../api/environment.ts";
import { useMay } from "../../api/me.ts";
import { newestWorkflowQuestion } from "../../api/workflows.ts";
import { overviewTexts } from "../../messages/overview.ts";
import { Copy } from "../Copy.tsx";
import { Waiting } from "../Waiting.tsx";

/** One of the examples, which needs nothing from outside. */
export const example = "examples/hello";

/** A command to copy. */
export function Command({ text }: { text: string }) {
  return (
    <span className="command">
      <code>{text}</code>
      <Copy text={text} what={text} />
    </span>
  );
}

/** A command that starts a workflow. */
export const running = (name: string): string =>
  name === example ? `chargehand run ${name} --input '{"name":"Ada"}'` : `chargehand run ${name}`;

/** What a person does first: write a workflow, run it, see what came of it. What they may not do is left out. */
export function FirstSteps() {
  const texts = overviewTexts().steps;
  const may = useMay();
  const sees = may("workflows:read") || may("workflows:start");
  const asked = useQuery({ ...newestWorkflowQuestion(), enabled: sees });
  if (asked.isLoading) {
    return <Waiting />;
  }
  const newest = asked.data;
  const name = newest && `${newest.namespace}/${newest.name}`;
  return (
    <section aria-labelledby="steps">
      <h2 id="steps">{texts.title}</h2>
      <ol className="steps">
        {may("workflows:write") && (
          <Step
            title={texts.write}
            help={name === undefined ? texts.writeHelp : texts.written(name)}
            command={`chargehand workflows apply ${example}.yaml`}
          >
            <Link className="as-button" to="/workflows/new">
              {texts.new}
            </Link>
          </Step>
        )}
        {may("executions:create") && (
          <Step title={texts.run} help={texts.runHelp} command={running(name ?? example)}>
            {newest && name !== undefined && (
              <Link
                className="as-button"
                to="/workflows/$namespace/$name"
                params={{ namespace: newest.namespace, name: newest.name }}
                search={{ tab: "run" }}
              >
                {texts.runIt(name)}
              </Link>
            )}
          </Step>
        )}
        <Step title={texts.see} help={texts.seeHelp} command="chargehand executions list">
          <Link className="as-button" to="/executions" search={{}}>
            {texts.list}
          </Link>
        </Step>
      </ol>
      <p className="meta">
        {texts.terminal}{" "}
        <a href="/docs/how-to/connect-the-command-line" target="_blank" rel="noopener">
          {texts.connect}
        </a>
      </p>
    </section>
  );
}

interface StepProps {
  title: string;
  help: string;
  command: string;
  children: ReactNode;
}

function Step({ title, help, command, children }: StepProps) {
  const of = environment() === "test" ? " --environment test" : "";
  return (
    <li>
      <h3>{title}</h3>
      <p>{help}</p>
      {children}
      <Command text={command + of} />
    </li>
  );
}
