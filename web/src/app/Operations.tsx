import { Link } from "@tanstack/react-router";
import { useRef } from "react";
import type { Operation } from "../api/operations.ts";
import { formatNumber } from "../messages/format.ts";
import { operationsTexts } from "../messages/operations.ts";
import { StateIcon } from "../parts/icons.tsx";
import "../styles/operations.css";

const panel = "under-way";

/** A button of the top bar with how many operations are under way. It shows how far each is, and leads to it. */
export default function Operations({ list }: { list: readonly Operation[] }) {
  const texts = operationsTexts();
  const box = useRef<HTMLDivElement>(null);
  const name = texts.underWay(list.length);
  return (
    <>
      <button type="button" className="under-way" popoverTarget={panel} aria-label={name} title={name}>
        <StateIcon state="running" />
        <span className="number">{formatNumber(list.length)}</span>
      </button>
      <div ref={box} id={panel} popover="auto" className="under-way-panel">
        <ul aria-label={name}>
          {list.map(({ id, action, status, pending, total }) => (
            <li key={id}>
              <Link to="/operations/$id" params={{ id }} onClick={() => box.current?.hidePopover()}>
                {texts.titles[action]}
              </Link>
              <span className="meta">
                {status === "selecting" ? texts.statuses.selecting : texts.of(total - pending, total)}
              </span>
            </li>
          ))}
        </ul>
      </div>
    </>
  );
}
