import { Button, type ButtonProps } from "@mantine/core";
import { useMergedRef } from "@mantine/hooks";
import { useLayoutEffect, useRef, type ComponentPropsWithRef, type MouseEvent } from "react";
import { lostId, useLostSince } from "../api/connection.ts";
import { t } from "../messages/index.ts";

function hold(event: MouseEvent): void {
  event.preventDefault();
  event.stopPropagation();
}

/**
 * What a button has that sends something to the server, while the server cannot be reached: a press of it does nothing,
 * and neither does Enter in a field of its form, which presses it. It keeps the focus, and says why.
 */
export function useHeld() {
  const held = useLostSince() !== undefined;
  return held
    ? {
        "aria-disabled": true,
        "aria-describedby": lostId,
        "data-disabled": true,
        title: t().connection.held,
        onClickCapture: hold,
      }
    : {};
}

type Props = ButtonProps & Omit<ComponentPropsWithRef<"button">, keyof ButtonProps>;

/**
 * The button of everything that changes something, or begins to. Each is held while the server cannot be reached. While
 * it is busy it is disabled, which takes the focus from it; it has it again afterwards.
 */
export function Action({ ref, ...props }: Props) {
  const own = useRef<HTMLButtonElement>(null);
  const focused = useRef(false);
  const { loading = false } = props;
  useLayoutEffect(() => {
    if (loading) {
      focused.current = document.activeElement === own.current;
    } else if (focused.current) {
      focused.current = false;
      if (document.activeElement === document.body) {
        own.current?.focus();
      }
    }
  }, [loading]);
  return <Button ref={useMergedRef(own, ref)} {...props} {...useHeld()} />;
}
