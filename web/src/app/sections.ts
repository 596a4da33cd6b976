import { IconListDetails } from "@tabler/icons-react";
import { t } from "../messages/index.ts";

/** The sections of the UI: where the side bar, the palette and the keys lead. */
export const sections = [
  {
    to: "/executions",
    key: "e",
    icon: IconListDetails,
    name: () => t().nav.executions,
    scopes: ["executions:read", "executions:read-own"],
  },
] as const;
