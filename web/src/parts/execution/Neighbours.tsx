import { Link, useNavigate } from "@tanstack/react-router";
import { IconChevronLeft, IconChevronRight } from "@tabler/icons-react";
import { useEffect, useState } from "react";
import { executionTexts } from "../../messages/execution.ts";
import { neighbours } from "../cameFrom.ts";
import { keysAreOn, typing } from "../keys.ts";

/** Links to the rows before and after this one in the list that one came from; [ and ] follow them. */
export function Neighbours({ id }: { id: string }) {
  const texts = executionTexts();
  const navigate = useNavigate();
  const [{ before, after }] = useState(() => neighbours(id));
  useEffect(() => {
    const press = (event: KeyboardEvent) => {
      const to = { "[": before, "]": after }[event.key];
      if (to !== undefined && !typing(event) && keysAreOn() && !event.ctrlKey && !event.metaKey) {
        void navigate({ to: "/executions/$id", params: { id: to }, search: {}, replace: true });
      }
    };
    addEventListener("keydown", press);
    return () => removeEventListener("keydown", press);
  }, [before, after, navigate]);
  return (
    <>
      {before !== undefined && <Neighbour id={before} name={texts.previous} sign="[" Icon={IconChevronLeft} />}
      {after !== undefined && <Neighbour id={after} name={texts.next} sign="]" Icon={IconChevronRight} />}
    </>
  );
}

function Neighbour({ id, name, sign, Icon }: { id: string; name: string; sign: string; Icon: typeof IconChevronLeft }) {
  return (
    <Link
      className="neighbour"
      to="/executions/$id"
      params={{ id }}
      search={{}}
      replace
      aria-label={name}
      title={`${name} (${sign})`}
    >
      <Icon aria-hidden size={16} />
    </Link>
  );
}
