import { Button } from "@mantine/core";
import { useEffect, useId, useLayoutEffect, useRef, useState, type ReactNode } from "react";
import "../styles/menu.css";

/**
 * A button with a panel below it, which shows its name or a sign for it. Escape, the button and what is beside the panel
 * close it.
 */
export function Menu({
  name,
  sign,
  children,
}: {
  name: string;
  sign?: string;
  children: (close: () => void) => ReactNode;
}) {
  const [open, setOpen] = useState(false);
  const panel = useId();
  const box = useRef<HTMLDivElement>(null);
  const button = useRef<HTMLButtonElement>(null);
  useEffect(() => {
    const press = (event: KeyboardEvent) => {
      const inDialog = event.target instanceof Element && event.target.closest("[role=dialog]") !== null;
      if (event.key === "Escape" && !event.defaultPrevented && !inDialog) {
        event.preventDefault(); // what it closes too without a menu stays
        setOpen(false);
        button.current?.focus();
      }
    };
    if (open) {
      addEventListener("keydown", press, true); // before all others
    }
    return () => removeEventListener("keydown", press, true);
  }, [open]);
  const wasOpen = useRef(false);
  useLayoutEffect(() => {
    // What had the focus went with the panel.
    if (wasOpen.current && !open && document.activeElement === document.body) {
      button.current?.focus();
    }
    wasOpen.current = open;
  }, [open]);
  return (
    <div
      ref={box}
      className="menu"
      onBlur={(event) => {
        if (event.relatedTarget !== null && !box.current?.contains(event.relatedTarget)) {
          setOpen(false);
        }
      }}
    >
      <Button
        ref={button}
        variant="default"
        {...(sign !== undefined && { "aria-label": name, title: name })}
        aria-expanded={open}
        aria-controls={open ? panel : undefined}
        onClick={() => setOpen(!open)}
      >
        {sign ?? name}
      </Button>
      {open && (
        <>
          <div className="menu-beside" aria-hidden onPointerDown={() => setOpen(false)} />
          <div id={panel} className="menu-panel" role="group" aria-label={name}>
            {children(() => setOpen(false))}
          </div>
        </>
      )}
    </div>
  );
}
