import { executionsTexts } from "../../messages/executions.ts";
import { t } from "../../messages/index.ts";
import type { Column } from "./columns.ts";

/** The heading of a column. */
export const columnName = (column: Column): string =>
  column === "id" ? t().list.id : executionsTexts().columns[column];
