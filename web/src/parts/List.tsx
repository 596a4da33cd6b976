import { Button } from "@mantine/core";
import { IconArrowUp, IconClockExclamation } from "@tabler/icons-react";
import type { InfiniteData, QueryKey, UseInfiniteQueryResult, UseQueryResult } from "@tanstack/react-query";
import { useEffect, useEffectEvent, useLayoutEffect, useMemo, useRef, type ReactNode } from "react";
import { Problem } from "../api/problem.ts";
import { firstPageAgain, patchPages } from "../api/query.ts";
import { formatClock } from "../messages/format.ts";
import { t } from "../messages/index.ts";
import { Failure } from "./Notice.tsx";
import { keep, readKept, usePlace } from "./kept.ts";
import { countNew, type ListRow } from "./rows.ts";
import { Waiting } from "./Waiting.tsx";

/** A page of an answer of the API. */
interface Page<T> {
  data: T[];
}

type Asked<T> = UseInfiniteQueryResult<InfiniteData<Page<T>>>;

/** What a list shows, page by page, and how many newer rows wait until the person asks for them. */
export interface Listing<T> {
  asked: Asked<T>;
  rows: readonly T[];
  newer: number;
  /** There may be more newer rows than those. */
  more: boolean;
  /** Why the rows are those of before, and not those of now. */
  stale: unknown;
  /** Shows the newest rows, from the first one on. */
  refresh: () => void;
  /** Asks again for what failed. */
  retry: () => void;
  /** Asks for the next page, when the last row comes into sight. */
  onward: () => void;
}

/** After loading a page of the browser again, a list has as many pages as before, up to this number. */
const mostPages = 20;

/** A list that is one part of its page. */
export function useSection<T>(asked: Asked<T>, key: QueryKey): Listing<T> {
  const rows = useMemo(() => asked.data?.pages.flatMap((page) => page.data) ?? [], [asked.data]);
  return {
    asked,
    rows,
    newer: 0,
    more: false,
    stale: asked.isRefetchError ? asked.error : undefined,
    refresh() {
      firstPageAgain(key);
      void asked.refetch();
    },
    retry: () => void (asked.isFetchNextPageError ? asked.fetchNextPage() : asked.refetch()),
    onward() {
      // A page without rows has looked at many in vain: the person says whether to look further.
      if (asked.hasNextPage && !asked.isFetching && !asked.isError && asked.data?.pages.at(-1)?.data.length !== 0) {
        void asked.fetchNextPage();
      }
    },
  };
}

/** The list of a page. After going back and after loading again, it is as long as it was, and at the same place. */
export function useListing<T>(asked: Asked<T>, key: QueryKey): Listing<T> {
  const listing = useSection(asked, key);
  useRestored(asked, listing.rows.length);
  return {
    ...listing,
    refresh() {
      scrollTo({ top: 0 });
      listing.refresh();
    },
  };
}

/** The list of a page, with its newest rows: those that are known change in place, and new ones wait. */
export function useLiveListing<T extends ListRow>(
  asked: Asked<T>,
  key: QueryKey,
  newest: UseQueryResult<Page<T>, unknown>,
): Listing<T> {
  const listing = useListing(asked, key);
  const fresh = newest.data?.data;
  const patch = useEffectEvent((rows: readonly T[]) => patchPages(key, rows));
  useEffect(() => {
    if (fresh) {
      patch(fresh);
    }
  }, [fresh]);
  const newer = fresh ? countNew(listing.rows, fresh) : 0;
  return {
    ...listing,
    newer,
    more: newer > 1 && newer === fresh?.length,
    stale: listing.stale ?? newest.error ?? undefined,
    retry() {
      if (newest.isError) {
        void newest.refetch();
      }
      if (asked.isError) {
        listing.retry();
      }
    },
  };
}

function useRestored<T>({ data, isFetching, isError, hasNextPage, fetchNextPage }: Asked<T>, length: number): void {
  const place = usePlace("list");
  const before = useMemo(() => readKept(place) as { pages: number; top: number } | undefined, [place]);
  const restored = useRef("");
  const pages = data?.pages.length ?? 0;
  const short = before !== undefined && pages < Math.min(before.pages, mostPages) && hasNextPage && !isError;
  useEffect(() => {
    if (short && pages > 0 && !isFetching) {
      void fetchNextPage();
    }
  }, [short, pages, isFetching, fetchNextPage]);
  useLayoutEffect(() => {
    if (length > 0 && !short && restored.current !== place) {
      restored.current = place;
      if (before && before.top > 0) {
        scrollTo({ top: before.top });
        // Where the window was at this place in the frame before, on the page that was left at once, the browser tells of
        // no scrolling: the table would show its first rows, far above what is in sight.
        dispatchEvent(new Event("scroll"));
      }
    }
  }, [length, short, place, before]);
  // It ends with the rows: without them the page is short, and the browser scrolls to its top.
  useLayoutEffect(() => {
    const note = () => {
      if (restored.current === place) {
        keep(place, { pages, top: Math.round(scrollY) });
      }
    };
    note();
    addEventListener("scroll", note, { passive: true });
    return () => removeEventListener("scroll", note);
  }, [place, pages]);
}

/**
 * What all lists have around their rows: that they are loading, what is new, what failed, that there are none, from when
 * they are if they are not of now, and the end.
 */
export function List<T>({
  listing,
  nothing,
  failure,
  children,
}: {
  listing: Listing<T>;
  nothing: ReactNode;
  /** In place of what the server says when it gives no rows. */
  failure?: ReactNode;
  children: ReactNode;
}) {
  const { asked, rows, newer, more, refresh, retry } = listing;
  return (
    <>
      <div className="above" aria-live="polite">
        {newer > 0 && !asked.isFetching && (
          <Button leftSection={<IconArrowUp aria-hidden size={14} />} title={t().list.newerHelp} onClick={refresh}>
            {t().list.newer(newer, more)}
          </Button>
        )}
      </div>
      {asked.isLoadingError && (failure ?? <Failure error={asked.error} retry={retry} />)}
      <Stale listing={listing} />
      {asked.isLoading && <Waiting />}
      {rows.length > 0 && children}
      {asked.isSuccess && rows.length === 0 && nothing}
      {asked.isFetchNextPageError && <Failure error={asked.error} retry={retry} />}
      <End list={asked} />
    </>
  );
}

/** Says from when rows are that could not be asked for again. What is lost with the connection, the frame says. */
function Stale<T>({ listing: { asked, stale, retry } }: { listing: Listing<T> }) {
  const passing = stale instanceof Problem && stale.passing;
  return (
    <>
      {stale !== undefined && !passing && <Failure error={stale} retry={retry} />}
      <div aria-live="polite">
        {passing && stale.status !== 0 && (
          <p className="stale">
            <IconClockExclamation aria-hidden size={16} />
            <span>{t().list.stale(formatClock(new Date(asked.dataUpdatedAt)), stale.title)}</span>
            <Button variant="subtle" onClick={retry}>
              {t().again}
            </Button>
          </p>
        )}
      </div>
    </>
  );
}

/** The end of a list: a button for more. A list that has come page by page says that these are all. */
export function End({
  list,
}: {
  list: Pick<Asked<unknown>, "data" | "hasNextPage" | "isFetchingNextPage" | "isFetchNextPageError" | "fetchNextPage">;
}) {
  if (list.isFetchNextPageError || !list.data || (!list.hasNextPage && list.data.pages.length < 2)) {
    return null;
  }
  return (
    <div className="below">
      {list.hasNextPage ? (
        <Button variant="default" loading={list.isFetchingNextPage} onClick={() => void list.fetchNextPage()}>
          {t().more}
        </Button>
      ) : (
        t().list.end
      )}
    </div>
  );
}
