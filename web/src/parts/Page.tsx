import { useEffect, useRef, type ReactNode } from "react";
import { environment } from "../api/environment.ts";
import { t } from "../messages/index.ts";

/** The page that had the focus put on its heading; going back to it does not do that again. */
let announced = "";

/**
 * The frame of a page: its title in the window and as a heading. After a navigation the heading has the focus, so that
 * a screen reader says where the person is, and Tab continues from there.
 */
export function Page({ title, actions, children }: { title: string; actions?: ReactNode; children: ReactNode }) {
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => {
    const place = environment() === "test" ? `${title} (${t().environment.test})` : title;
    document.title = `${place} – ${t().product}`;
    if (announced !== "" && announced !== location.pathname && !document.activeElement?.matches("main *")) {
      heading.current?.focus({ preventScroll: true });
    }
    announced = location.pathname;
  }, [title]);
  return (
    <>
      <div className="page-head">
        <h1 ref={heading} tabIndex={-1}>
          {title}
        </h1>
        {actions !== undefined && <div className="actions">{actions}</div>}
      </div>
      {children}
    </>
  );
}
