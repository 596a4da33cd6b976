import { ActionIcon } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { Link, Outlet, useRouterState } from "@tanstack/react-router";
import { IconMenu2, IconSearch } from "@tabler/icons-react";
import { Suspense, useEffect, useState } from "react";
import { lostId, useLostSince } from "../api/connection.ts";
import { environment, environmentOf } from "../api/environment.ts";
import { useMay, useMe } from "../api/me.ts";
import { underWayQuestion } from "../api/operations.ts";
import { Problem } from "../api/problem.ts";
import { useSessionEnded } from "../api/session.ts";
import { followMyTasks, taskCountsQuestion } from "../api/tasks.ts";
import { formatClock, formatNumber } from "../messages/format.ts";
import { t } from "../messages/index.ts";
import { Action } from "../parts/Action.tsx";
import { useSaved } from "../parts/preferences.ts";
import { AccountMenu } from "./AccountMenu.tsx";
import { useKeys } from "./keys.ts";
import { adminSections, sections, type Section } from "./sections.ts";
import { later } from "../parts/later.tsx";

// Where its script cannot be loaded, nothing is shown: the page says itself that the server is away.
const Operations = later(
  () => import("./Operations.tsx"),
  () => null,
);
const Palette = later(() => import("./Palette.tsx"));
const KeyHelp = later(() => import("./KeyHelp.tsx"));
const SessionEnded = later(() => import("./SessionEnded.tsx"));

/** What is around every page: sections, environment, search, account. */
export function Frame() {
  const [dialog, setDialog] = useState<"palette" | "keys">();
  const [menuAt, setMenuAt] = useState<string>(); // the page on which the menu was opened
  const env = useRouterState({ select: (state) => environmentOf(state.location.search) });
  const place = useRouterState({ select: (state) => state.location.pathname });
  const menu = menuAt === place;
  const ended = useSessionEnded();
  useKeys({ palette: () => setDialog("palette"), help: () => setDialog("keys") });
  const close = () => setDialog(undefined);
  return (
    <div className="frame" data-environment={env}>
      <a className="skip" href="#main">
        {t().skip}
      </a>
      <header className="top">
        <ActionIcon
          className="menu-button"
          size={32}
          aria-label={t().nav.open}
          aria-expanded={menu}
          aria-controls="sections"
          onClick={() => setMenuAt(menu ? undefined : place)}
        >
          <IconMenu2 aria-hidden size={18} />
        </ActionIcon>
        <Link to="/" className="brand">
          {t().product}
        </Link>
        <EnvironmentSwitch />
        <button type="button" className="finder" onClick={() => setDialog("palette")}>
          <IconSearch aria-hidden size={14} />
          <span>{t().nav.search}</span>
          <kbd>Ctrl K</kbd>
        </button>
        <UnderWay />
        <AccountMenu showKeys={() => setDialog("keys")} />
      </header>
      <Sections open={menu} />
      <main id="main" tabIndex={-1}>
        <Lost />
        <Unsaved />
        <Outlet />
      </main>
      <Suspense>
        {dialog === "palette" && <Palette close={close} showKeys={() => setDialog("keys")} />}
        {dialog === "keys" && <KeyHelp close={close} />}
        {ended && <SessionEnded />}
      </Suspense>
    </div>
  );
}

/** The operations of the person that are under way, while there are some. */
function UnderWay() {
  const enabled = useMay()("executions:manage");
  const list = useQuery({ ...underWayQuestion(), enabled }).data ?? [];
  return <Suspense>{list.length > 0 && <Operations list={list} />}</Suspense>;
}

function Sections({ open }: { open: boolean }) {
  return (
    <nav id="sections" className="side" aria-label={t().nav.label} data-open={open || undefined}>
      <SectionList list={sections} />
      <SectionList list={adminSections} title={t().nav.admin} />
    </nav>
  );
}

/** What the person may not use is left out; with nothing left, so is the title. */
function SectionList({ list, title }: { list: readonly Section[]; title?: string }) {
  const may = useMay();
  const usable = list.filter((section) => section.scopes.some(may));
  if (usable.length === 0) {
    return null;
  }
  return (
    <>
      {title !== undefined && <p className="side-title">{title}</p>}
      <ul aria-label={title}>
        {usable.map((section) => (
          <li key={section.to}>
            <Link to={section.to} search={{}} activeOptions={{ includeSearch: false, exact: section.to === "/" }}>
              <section.icon aria-hidden size={16} stroke={1.75} />
              {section.name()}
              {section.to === "/inbox" && <Waiting />}
            </Link>
          </li>
        ))}
      </ul>
    </>
  );
}

/** How many tasks wait for the person. It follows them for all pages. */
function Waiting() {
  const of = environment();
  useEffect(() => {
    const stream = followMyTasks(of);
    return () => stream.close();
  }, [of]);
  const mine = useQuery(taskCountsQuestion(30, true)).data?.mine;
  if (mine === undefined || mine.count === 0) {
    return null;
  }
  const count = `${formatNumber(mine.count)}${mine.at_least ? "+" : ""}`;
  return (
    <span className="side-count" title={t().nav.forYou(count)}>
      {count}
    </span>
  );
}

/** The address of the section that a page belongs to. An action on many executions has no list of its own. */
function sectionOf(path: string): string {
  const [, first = "", second = ""] = path.split("/");
  if (first === "operations") {
    return "/executions";
  }
  return first === "admin" || first === "account" ? `/${first}/${second}` : `/${first}`;
}

/** Links to the same section in the other environment. */
function EnvironmentSwitch() {
  const { environments } = useMe();
  const env = useRouterState({ select: (state) => environmentOf(state.location.search) });
  const section = useRouterState({ select: (state) => sectionOf(state.location.pathname) });
  if (environments.length < 2 && env === (environments[0] ?? "live")) {
    return env === "test" ? <strong>{t().environment.test}</strong> : null;
  }
  return (
    <nav className="environment" aria-label={t().environment.label}>
      {(["live", "test"] as const).map((name) => (
        <Link
          key={name}
          to={section}
          search={name === "test" ? { env: "test" } : { env: undefined }}
          activeOptions={{ explicitUndefined: true }}
          activeProps={{}}
          aria-current={env === name ? "true" : undefined}
        >
          {t().environment[name]}
        </Link>
      ))}
    </nav>
  );
}

/** Says that the server cannot be reached. What was loaded stays. */
function Lost() {
  const since = useLostSince();
  return (
    <div role="status" id={lostId}>
      {since && <p className="lost">{t().connection.lost(formatClock(since))}</p>}
    </div>
  );
}

/** Says that a setting could not be saved, and why. */
function Unsaved() {
  const outcome = useSaved();
  return (
    <div role="status">
      {outcome?.saved === false && (
        <p className="lost row">
          {t().unsaved} {outcome.error instanceof Problem && outcome.error.message}
          <Action variant="default" onClick={outcome.again}>
            {t().again}
          </Action>
        </p>
      )}
    </div>
  );
}
