import { Button } from "@mantine/core";
import { executionTexts } from "../../messages/execution.ts";
import { Canvas, type ViewProps } from "./Canvas.tsx";
import { Outline } from "./Outline.tsx";
import "../../styles/graph.css";

export interface GraphViewProps extends ViewProps {
  view: "picture" | "outline";
  change: (view: "picture" | "outline") => void;
}

/** A graph as a picture or as an outline, and the choice between both. It is loaded with the first graph. */
export default function GraphView({ view, change, ...props }: GraphViewProps) {
  const texts = executionTexts().graph;
  const View = view === "outline" ? Outline : Canvas;
  return (
    <>
      <div className="row graph-bar" role="group" aria-label={texts.view}>
        {(["picture", "outline"] as const).map((name) => (
          <Button
            key={name}
            size="compact-sm"
            variant={name === view ? "filled" : "default"}
            aria-pressed={name === view}
            onClick={() => change(name)}
          >
            {texts[name]}
          </Button>
        ))}
      </div>
      <View {...props} />
    </>
  );
}
