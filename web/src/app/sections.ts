import {
  IconGauge,
  IconHeartbeat,
  IconHistory,
  IconInbox,
  IconKey,
  IconLayoutDashboard,
  IconListDetails,
  IconShieldCheck,
  IconSitemap,
  IconStack2,
  IconUser,
  IconUsers,
} from "@tabler/icons-react";
import { t } from "../messages/index.ts";

/** The sections of the UI: where the side bar, the palette and the keys lead. */
export const sections = [
  {
    to: "/",
    key: "o",
    icon: IconLayoutDashboard,
    name: () => t().nav.overview,
    scopes: ["executions:read"],
  },
  {
    to: "/workflows",
    key: "w",
    icon: IconSitemap,
    name: () => t().nav.workflows,
    scopes: ["workflows:read", "workflows:start"],
  },
  {
    to: "/executions",
    key: "e",
    icon: IconListDetails,
    name: () => t().nav.executions,
    scopes: ["executions:read", "executions:read-own"],
  },
  {
    to: "/batches",
    key: "b",
    icon: IconStack2,
    name: () => t().nav.batches,
    scopes: ["executions:read", "executions:read-own"],
  },
  { to: "/inbox", key: "i", icon: IconInbox, name: () => t().nav.inbox, scopes: ["tasks:read"] },
] as const;

/** Those of admins, below a line of their own. */
export const adminSections = [
  { to: "/admin/users", key: "u", icon: IconUser, name: () => t().nav.users, scopes: ["admin"] },
  { to: "/admin/groups", key: "p", icon: IconUsers, name: () => t().nav.groups, scopes: ["admin"] },
  { to: "/admin/grants", key: "r", icon: IconShieldCheck, name: () => t().nav.grants, scopes: ["admin"] },
  { to: "/admin/audit", key: "a", icon: IconHistory, name: () => t().nav.audit, scopes: ["admin"] },
  { to: "/admin/secrets", key: "s", icon: IconKey, name: () => t().nav.secrets, scopes: ["admin"] },
  { to: "/admin/limits", key: "l", icon: IconGauge, name: () => t().nav.limits, scopes: ["admin"] },
  { to: "/admin/health", key: "h", icon: IconHeartbeat, name: () => t().nav.health, scopes: ["installation"] },
] as const;

export const allSections = [...sections, ...adminSections] as const;

export type Section = (typeof allSections)[number];
