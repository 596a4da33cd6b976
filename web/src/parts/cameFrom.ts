import { keep } from "./kept.ts";

const place = "chargehand-came-from";

/** The list that a person looks at, so that a page of one of its rows leads to the ones before and after it. */
interface CameFrom {
  address: string;
  ids: readonly string[];
}

export const rememberList = (list: CameFrom): void => void keep(place, list);

/** The neighbours of an id in the list that one came from, if it is in it. */
export function neighbours(id: string): { before?: string; after?: string } {
  const text = sessionStorage.getItem(place);
  const ids = text === null ? [] : (JSON.parse(text) as CameFrom).ids;
  const at = ids.indexOf(id);
  const [before, after] = at < 0 ? [] : [ids[at - 1], ids[at + 1]];
  return { ...(before !== undefined && { before }), ...(after !== undefined && { after }) };
}
