import { createRootRoute, createRoute, createRouter, Navigate, retainSearchParams } from "@tanstack/react-router";
import type { ComponentType } from "react";
import { environmentOf, setEnvironment, type Environment } from "../api/environment.ts";
import { meQuestion, useMay } from "../api/me.ts";
import { spans, type Span } from "../api/overview.ts";
import { userStatuses, type UserFilter } from "../api/people.ts";
import { Problem } from "../api/problem.ts";
import { queries } from "../api/query.ts";
import { signInAddress } from "../api/session.ts";
import { settingsQuestion } from "../api/settings.ts";
import type { WorkflowFilter } from "../api/workflows.ts";
import { readAuditAddress } from "../parts/audit/address.ts";
import { readAddress } from "../parts/execution/address.ts";
import { readAddress as readInboxAddress } from "../parts/inbox/address.ts";
import { later } from "../parts/later.tsx";
import { follow, show } from "../parts/preferences.ts";
import { itemStates, type ItemState } from "../parts/state.ts";
import { Waiting } from "../parts/Waiting.tsx";
import { readAddress as readWorkflowAddress } from "../parts/workflow/address.ts";
import { Frame } from "./Frame.tsx";
import { Missing, Wrong } from "./Plain.tsx";

/** The environment is part of every address. */
interface Search {
  env?: Environment | undefined;
}

/** The component of a screen, which comes when it is opened. */
const screen = (load: () => Promise<{ default: ComponentType }>) => later(load, Wrong);

const text = (value: unknown): string | undefined => (typeof value === "string" && value !== "" ? value : undefined);

const root = createRootRoute({
  validateSearch: (search: Record<string, unknown>): Search => (search["env"] === "test" ? { env: "test" } : {}),
  search: { middlewares: [retainSearchParams(["env"])] },
  // A link that is pointed at is loaded beforehand: the page that is shown stays in its environment.
  beforeLoad: ({ search, preload }) => {
    if (!preload) {
      setEnvironment(environmentOf(search));
    }
  },
  loader: async () => {
    try {
      // The page does not wait for the settings: this browser knows those of before.
      queries.ensureQueryData(settingsQuestion()).then(show, () => {});
      const me = await queries.ensureQueryData(meQuestion());
      await follow(me);
      return me;
    } catch (error) {
      if (error instanceof Problem && error.status === 401) {
        location.replace(signInAddress());
        await new Promise(() => {}); // the browser leaves
      }
      throw error;
    }
  },
  component: Frame,
  notFoundComponent: Missing,
  errorComponent: Wrong,
  pendingComponent: Waiting,
});

const Overview = screen(() => import("../routes/overview.tsx"));

/** Where people begin: those who see no executions of others with their tasks. */
function Home() {
  const may = useMay();
  return may("executions:read") || !may("tasks:read") ? <Overview /> : <Navigate to="/inbox" replace />;
}

const home = createRoute({
  getParentRoute: () => root,
  path: "/",
  validateSearch: (search: Record<string, unknown>): { span?: Span } => {
    const span = text(search["span"]);
    return span !== undefined && Object.hasOwn(spans, span) ? { span: span as Span } : {};
  },
  component: Object.assign(Home, { preload: Overview.preload }),
});

const executions = createRoute({
  getParentRoute: () => root,
  path: "/executions",
  validateSearch: (search: Record<string, unknown>): { filter?: string; group?: "cause" } => {
    const filter = text(search["filter"]);
    return { ...(filter !== undefined && { filter }), ...(search["group"] === "cause" && { group: "cause" }) };
  },
  component: screen(() => import("../routes/executions.tsx")),
});

const execution = createRoute({
  getParentRoute: () => root,
  path: "/executions/$id",
  validateSearch: readAddress,
  component: screen(() => import("../routes/execution.tsx")),
});

const operation = createRoute({
  getParentRoute: () => root,
  path: "/operations/$id",
  component: screen(() => import("../routes/operation.tsx")),
});

const inbox = createRoute({
  getParentRoute: () => root,
  path: "/inbox",
  validateSearch: readInboxAddress,
  component: screen(() => import("../routes/inbox.tsx")),
});

/** A task of the inbox, which shows it itself. */
const task = createRoute({ getParentRoute: () => inbox, path: "$taskId" });

const workflows = createRoute({
  getParentRoute: () => root,
  path: "/workflows",
  validateSearch: (search: Record<string, unknown>): WorkflowFilter => {
    const filter: WorkflowFilter = {};
    for (const name of ["q", "namespace", "tag"] as const) {
      const value = text(search[name]);
      if (value !== undefined) {
        filter[name] = value;
      }
    }
    const { drafts } = search;
    return drafts === "true" || drafts === "false" ? { ...filter, drafts } : filter;
  },
  component: screen(() => import("../routes/workflows.tsx")),
});

const workflow = createRoute({
  getParentRoute: () => root,
  path: "/workflows/$namespace/$name",
  validateSearch: readWorkflowAddress,
  component: screen(() => import("../routes/workflow.tsx")),
});

const newWorkflow = createRoute({
  getParentRoute: () => root,
  path: "/workflows/new",
  component: screen(() => import("../routes/workflow-new.tsx")),
});

const batches = createRoute({
  getParentRoute: () => root,
  path: "/batches",
  validateSearch: (search: Record<string, unknown>): { workflow?: string } => {
    const name = text(search["workflow"]);
    return name === undefined ? {} : { workflow: name };
  },
  component: screen(() => import("../routes/batches.tsx")),
});

const batch = createRoute({
  getParentRoute: () => root,
  path: "/batches/$id",
  validateSearch: (search: Record<string, unknown>): { state?: ItemState; fields?: string } => {
    const state = itemStates.find((name) => name === search["state"]);
    const fields = text(search["fields"]);
    return { ...(state !== undefined && { state }), ...(fields !== undefined && { fields }) };
  },
  component: screen(() => import("../routes/batch.tsx")),
});

const apiKeys = createRoute({
  getParentRoute: () => root,
  path: "/account/api-keys",
  component: screen(() => import("../routes/api-keys.tsx")),
});

const security = createRoute({
  getParentRoute: () => root,
  path: "/account/security",
  component: screen(() => import("../routes/security.tsx")),
});

const settings = createRoute({
  getParentRoute: () => root,
  path: "/account",
  component: screen(() => import("../routes/settings.tsx")),
});

interface LimitSearch {
  q?: string | undefined;
  only?: "used" | "settable" | undefined;
}

const limits = createRoute({
  getParentRoute: () => root,
  path: "/admin/limits",
  validateSearch: (search: Record<string, unknown>): LimitSearch => {
    const { only } = search;
    const q = text(search["q"]);
    return { ...(q !== undefined && { q }), ...((only === "used" || only === "settable") && { only }) };
  },
  component: screen(() => import("../routes/limits.tsx")),
});

const health = createRoute({
  getParentRoute: () => root,
  path: "/admin/health",
  component: screen(() => import("../routes/health.tsx")),
});

const secrets = createRoute({
  getParentRoute: () => root,
  path: "/admin/secrets",
  component: screen(() => import("../routes/secrets.tsx")),
});

const secret = createRoute({
  getParentRoute: () => root,
  path: "/admin/secrets/$name",
  component: screen(() => import("../routes/secret.tsx")),
});

const users = createRoute({
  getParentRoute: () => root,
  path: "/admin/users",
  validateSearch: (search: Record<string, unknown>): UserFilter => {
    const q = text(search["q"]);
    const status = userStatuses.find((name) => name === search["status"]);
    return { ...(q !== undefined && { q }), ...(status !== undefined && { status }) };
  },
  component: screen(() => import("../routes/users.tsx")),
});

const user = createRoute({
  getParentRoute: () => root,
  path: "/admin/users/$id",
  component: screen(() => import("../routes/user.tsx")),
});

const groups = createRoute({
  getParentRoute: () => root,
  path: "/admin/groups",
  component: screen(() => import("../routes/groups.tsx")),
});

const group = createRoute({
  getParentRoute: () => root,
  path: "/admin/groups/$id",
  component: screen(() => import("../routes/group.tsx")),
});

const grants = createRoute({
  getParentRoute: () => root,
  path: "/admin/grants",
  validateSearch: (search: Record<string, unknown>): { workflow?: string } => {
    const name = text(search["workflow"]);
    return name === undefined ? {} : { workflow: name };
  },
  component: screen(() => import("../routes/grants.tsx")),
});

const audit = createRoute({
  getParentRoute: () => root,
  path: "/admin/audit",
  validateSearch: readAuditAddress,
  component: screen(() => import("../routes/audit.tsx")),
});

const admin = [users, user, groups, group, grants, audit] as const;

export const router = createRouter({
  routeTree: root.addChildren([
    home,
    executions,
    execution,
    operation,
    inbox.addChildren([task]),
    batches,
    batch,
    workflows,
    newWorkflow,
    workflow,
    apiKeys,
    security,
    settings,
    limits,
    health,
    secrets,
    secret,
    ...admin,
  ]),
  defaultPreload: "intent",
  defaultErrorComponent: Wrong,
  defaultPendingComponent: Waiting,
  scrollRestoration: true,
  // Addresses are plain: people read and write them.
  parseSearch: (search) => Object.fromEntries(new URLSearchParams(search)),
  stringifySearch: (search) => {
    const pairs = Object.entries(search as Record<string, string | undefined>).filter(
      ([, value]) => value !== undefined,
    );
    const query = new URLSearchParams(pairs as [string, string][]).toString();
    return query === "" ? "" : `?${query.replaceAll("%3A", ":").replaceAll("%2F", "/")}`;
  },
});

declare module "@tanstack/react-router" {
  interface Register {
    router: typeof router;
  }
}
