import {
  infiniteQueryOptions,
  queryOptions,
  useInfiniteQuery,
  useQueries,
  type InfiniteData,
} from "@tanstack/react-query";
import { useEffect } from "react";
import { isOver, type Batch, type Item } from "./batches.ts";
import { answer, client, type Schemas } from "./client.ts";
import { environment } from "./environment.ts";
import { every, queries } from "./query.ts";

export type ItemPhase = Item["phase"];
type ItemPage = Schemas["BatchItemPage"];

/** The most that the API gives at once. */
const pageLength = 100;

/** How often what is seen of a running batch is asked for while no stream tells of changes, and while one does. */
const again = 2000;
const toldOf = 60_000;

/** A page of the items of a batch in one phase, or of all. The cursor is the index of the first one. */
export function itemPage(
  batch: Batch,
  phase: ItemPhase | undefined,
  cursor: string,
  signal: AbortSignal,
): Promise<ItemPage> {
  const params = {
    path: { workflowId: batch.workflow_id, batchId: batch.id },
    query: { limit: pageLength, cursor, ...(phase && { phase }) },
  };
  return answer(client.GET("/workflows/{workflowId}/batch/{batchId}/items", { params, signal }));
}

/** Items of a batch, by their places in the list that is shown. */
export interface Items {
  count: number;
  at: (place: number) => Item | undefined;
  error: unknown;
  /** How many there are is not known yet. */
  loading: boolean;
  retry: () => void;
}

/**
 * All items: a page is asked for when one of its places is seen, so that the last is as near as the first. The cursor of
 * items is the index of the next one. Told says that they are asked for again when a stream tells of changes.
 */
export function useAllItems(batch: Batch, from: number, to: number, enabled: boolean, told: boolean): Items {
  const first = Math.floor(Math.max(0, from) / pageLength);
  const last = Math.floor(Math.max(0, Math.min(to, batch.total - 1)) / pageLength);
  const numbers = Array.from({ length: enabled ? last - first + 1 : 0 }, (_, i) => first + i);
  const pages = useQueries({
    queries: numbers.map((number) =>
      queryOptions({
        queryKey: [environment(), "batch", batch.id, "items", number],
        queryFn: ({ signal }) => itemPage(batch, undefined, String(number * pageLength), signal),
        refetchInterval: isOver(batch) ? false : every(told ? toldOf : again),
      }),
    ),
  });
  return {
    count: batch.total,
    at: (place) => pages[Math.floor(place / pageLength) - first]?.data?.data[place % pageLength],
    error: pages.find((asked) => asked.isError)?.error,
    loading: false, // rows whose page is on its way are there, and empty
    retry: () => pages.forEach((asked) => void asked.refetch()),
  };
}

/** The beginning of the keys of items in one phase. */
const inPhase = (id: string) => [environment(), "batch", id, "items-in"];

/**
 * How many pages of items in one phase are shown. All of them are asked for again when something has changed, because an
 * item that has left its phase moves all behind it.
 */
export const countPagesIn = (id: string): number =>
  Math.max(
    0,
    ...queries
      .getQueriesData<InfiniteData<ItemPage>>({ queryKey: inPhase(id), type: "active" })
      .map(([, data]) => data?.pages.length ?? 0),
  );

/** Items in one phase: the next page is asked for when the last place of those before is seen. */
export function useItemsIn(batch: Batch, phase: ItemPhase | undefined, to: number, told: boolean): Items {
  const asked = useInfiniteQuery({
    ...infiniteQueryOptions({
      queryKey: [...inPhase(batch.id), phase],
      queryFn: ({ pageParam, signal }) => itemPage(batch, phase, pageParam, signal),
      initialPageParam: "0",
      getNextPageParam: (last: ItemPage) => last.cursor ?? undefined,
    }),
    refetchInterval: (query) =>
      isOver(batch) ? false : every(told ? toldOf : again * Math.max(1, query.state.data?.pages.length ?? 0))(query),
    enabled: phase !== undefined,
  });
  const rows = asked.data?.pages.flatMap((one) => one.data) ?? [];
  const { fetchNextPage, hasNextPage, isFetching } = asked;
  const short = to >= rows.length - 1;
  useEffect(() => {
    if (short && hasNextPage && !isFetching) {
      void fetchNextPage();
    }
  }, [short, hasNextPage, isFetching, fetchNextPage]);
  return {
    count: rows.length,
    at: (place) => rows[place],
    error: asked.error,
    loading: asked.isLoading,
    retry: () => void asked.refetch(),
  };
}
