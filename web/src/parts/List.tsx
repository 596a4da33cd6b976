import { Button } from "@mantine/core";
import { IconArrowUp } from "@tabler/icons-react";
import type { InfiniteData, QueryKey, UseInfiniteQueryResult } from "@tanstack/react-query";
import { useEffect, useEffectEvent, useLayoutEffect, useMemo, useRef, type ReactNode } from "react";
import { firstPageAgain, patchPages } from "../api/query.ts";
import { t } from "../messages/index.ts";
import { Failure } from "./Notice.tsx";
import { keep, readKept, usePlace } from "./kept.ts";
import { countNew, type ListRow } from "./rows.ts";
import { Waiting } from "./Waiting.tsx";

/** A page of an answer of the API. */
interface Page<T> {
  data: T[];
  cursor: string | null;
}

type Asked<T> = UseInfiniteQueryResult<InfiniteData<Page<T>>>;

/** What a list shows, page by page, and how many newer rows wait until the person asks for them. */
export interface Listing<T> {
  asked: Asked<T>;
  rows: readonly T[];
  newer: number;
  /** There may be more newer rows than those. */
  more: boolean;
  refresh: () => void;
}

/** After loading a page of the browser again, a list has as many pages as before, up to this number. */
const mostPages = 20;

/**
 * Puts a list and its newest rows together. Rows that are known change in place, and new ones wait. After going back and
 * after loading again, the list is as long as it was, and at the same place.
 */
export function useListing<T extends ListRow>(
  asked: Asked<T>,
  newest: readonly T[] | undefined,
  key: QueryKey,
): Listing<T> {
  const rows = useMemo(() => asked.data?.pages.flatMap((page) => page.data) ?? [], [asked.data]);
  const patch = useEffectEvent((fresh: readonly T[]) => patchPages(key, fresh));
  useEffect(() => {
    if (newest) {
      patch(newest);
    }
  }, [newest]);
  const refresh = () => {
    scrollTo({ top: 0 });
    firstPageAgain(key);
    void asked.refetch();
  };
  useRestored(asked, rows.length);
  const newer = newest ? countNew(rows, newest) : 0;
  return { asked, rows, newer, more: newer > 1 && newer === newest?.length, refresh };
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
      }
    }
  }, [length, short, place, before]);
  useEffect(() => {
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

/** What all lists have around their rows: what is new, what failed, nothing, and the end. */
export function List<T>({
  listing,
  nothing,
  failure,
  children,
}: {
  listing: Listing<T>;
  nothing: ReactNode;
  /** In place of what the server says. */
  failure?: ReactNode;
  children: ReactNode;
}) {
  const { asked, rows, newer, more, refresh } = listing;
  const error =
    asked.error &&
    (failure ?? (
      <Failure
        error={asked.error}
        retry={() => void (asked.isFetchNextPageError ? asked.fetchNextPage() : asked.refetch())}
      />
    ));
  return (
    <>
      <div className="above" aria-live="polite">
        {newer > 0 && !asked.isFetching && (
          <Button leftSection={<IconArrowUp aria-hidden size={14} />} title={t().list.newerHelp} onClick={refresh}>
            {t().list.newer(newer, more)}
          </Button>
        )}
      </div>
      {!asked.isFetchNextPageError && error}
      {asked.isLoading && <Waiting />}
      {rows.length > 0 && children}
      {asked.isSuccess && rows.length === 0 && nothing}
      {asked.isFetchNextPageError && error}
      {asked.data && !asked.isFetchNextPageError && (
        <div className="below">
          {asked.hasNextPage ? (
            <Button variant="default" loading={asked.isFetchingNextPage} onClick={() => void asked.fetchNextPage()}>
              {t().more}
            </Button>
          ) : (
            rows.length > 0 && t().list.end
          )}
        </div>
      )}
    </>
  );
}
