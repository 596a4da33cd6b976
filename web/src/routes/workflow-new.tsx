import { getRouteApi, useNavigate } from "@tanstack/react-router";
import { Suspense, useEffect, useState } from "react";
import { environment } from "../api/environment.ts";
import { useMay } from "../api/me.ts";
import { definitionTexts } from "../messages/definition.ts";
import { later } from "../parts/later.tsx";
import { Page } from "../parts/Page.tsx";
import { Waiting } from "../parts/Waiting.tsx";
import { lastText, setText } from "../parts/workflow/handed.ts";
import { template } from "../parts/editor/template.ts";
import "../styles/workflows.css";

const Workbench = later(() => import("../parts/editor/Workbench.tsx"));

const route = getRouteApi("/workflows/new");

/** The editor for a new workflow, which begins with one that runs as it is. */
export default function NewWorkflow() {
  const texts = definitionTexts().editor;
  const may = useMay();
  const navigate = useNavigate();
  route.useSearch();
  const [dropped] = useState(lastText);
  useEffect(() => setText(undefined), []);
  return (
    <Page title={texts.title}>
      {may("workflows:write") ? (
        <Suspense fallback={<Waiting />}>
          <Workbench
            fresh={template}
            name={undefined}
            dropped={dropped}
            saved={({ name: whole, draft }) => {
              // In live, a workflow has no page until it is published.
              if (!draft || environment() === "test") {
                const [namespace = "", name = ""] = whole.split("/");
                void navigate({ to: "/workflows/$namespace/$name", params: { namespace, name }, search: {} });
              }
            }}
            done={() => void navigate({ to: "/workflows", search: {} })}
          />
        </Suspense>
      ) : (
        <p className="alert" role="alert">
          {texts.forbidden}
        </p>
      )}
    </Page>
  );
}
