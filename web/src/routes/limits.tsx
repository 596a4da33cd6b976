import { Button, NativeSelect, TextInput } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useMatch, useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import { limitsQuestion, type Limit } from "../api/limits.ts";
import { formatShare } from "../messages/format.ts";
import { t } from "../messages/index.ts";
import { limitsTexts } from "../messages/limits.ts";
import { checked } from "../parts/checked.ts";
import { formatAmount } from "../parts/amount.ts";
import { Empty, Failure } from "../parts/Notice.tsx";
import { Page } from "../parts/Page.tsx";
import { Waiting } from "../parts/Waiting.tsx";
import "../styles/account.css";

const choices = ["all", "used", "settable"] as const;
type Choice = (typeof choices)[number];

const shows: Record<Choice, (limit: Limit) => boolean> = {
  all: () => true,
  used: (limit) => limit.used !== undefined,
  settable: (limit) => limit.setting !== undefined,
};

/** Every limit of the installation, what is used of it, and the setting that changes it. */
export default function Limits() {
  const texts = limitsTexts();
  const limits = useQuery(limitsQuestion());
  const { q = "", only = "all" } = useMatch({ from: "/admin/limits", select: checked });
  const navigate = useNavigate({ from: "/admin/limits" });
  const set = (search: { q?: string; only?: Choice }) =>
    void navigate({
      search: (before) => ({
        ...before,
        ...(search.q !== undefined && { q: search.q === "" ? undefined : search.q }),
        ...(search.only !== undefined && { only: search.only === "all" ? undefined : search.only }),
      }),
      replace: true,
    });
  // The address follows what is typed, which must not wait for it.
  const [typed, setTyped] = useState<string>();
  const wanted = (typed ?? q).toLowerCase();
  const found = limits.data?.data.filter(
    (limit) =>
      shows[only](limit) &&
      [limit.name, limit.description, limit.setting ?? ""].some((text) => text.toLowerCase().includes(wanted)),
  );
  return (
    <Page title={t().nav.limits}>
      <p className="lead">{texts.about}</p>
      <div className="filters">
        <TextInput
          className="text"
          data-search
          label={texts.filter}
          description={texts.filterHelp}
          value={typed ?? q}
          onChange={(event) => {
            setTyped(event.currentTarget.value);
            set({ q: event.currentTarget.value });
          }}
          onBlur={() => setTyped(undefined)}
        />
        <NativeSelect
          label={texts.only}
          value={only}
          onChange={(event) => set({ only: event.currentTarget.value as Choice })}
          data={choices.map((value) => ({ value, label: texts.choices[value] }))}
        />
      </div>
      {limits.isLoadingError && <Failure error={limits.error} retry={() => void limits.refetch()} />}
      {limits.isLoading && <Waiting />}
      {found?.length === 0 && (
        <Empty text={texts.noMatch}>
          <Button variant="default" onClick={() => set({ q: "", only: "all" })}>
            {texts.clear}
          </Button>
        </Empty>
      )}
      {found && found.length > 0 && <Table limits={found} />}
    </Page>
  );
}

function Table({ limits }: { limits: readonly Limit[] }) {
  const { columns, ...texts } = limitsTexts();
  return (
    <table className="list limits" aria-label={t().nav.limits}>
      <thead>
        <tr>
          <th scope="col">{columns.limit}</th>
          <th scope="col">{columns.value}</th>
          <th scope="col">{columns.used}</th>
          <th scope="col">{columns.setting}</th>
          <th scope="col">{columns.meaning}</th>
        </tr>
      </thead>
      <tbody>
        {limits.map((limit) => (
          <tr key={limit.name}>
            <td className="main">
              <code>{limit.name}</code>
            </td>
            <td className="number">
              {limit.value === 0 && limit.used !== undefined ? texts.none : formatAmount(limit.name, limit.value)}
            </td>
            <td className="number">
              {limit.used !== undefined && (
                <>
                  {formatAmount(limit.name, limit.used)} <Share used={limit.used} of={limit.value} />
                </>
              )}
            </td>
            <td>
              {limit.setting === undefined ? (
                <span className="meta">{texts.fixed}</span>
              ) : (
                <code>--{limit.setting}</code>
              )}
            </td>
            {/* The server says it in English. */}
            <td lang="en">{limit.description}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function Share({ used, of }: { used: number; of: number }) {
  if (of === 0) {
    return null;
  }
  const share = formatShare(used / of);
  return <meter min={0} max={of} high={of * 0.8} value={used} aria-label={limitsTexts().of(share)} title={share} />;
}
