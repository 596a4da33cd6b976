import { Button } from "@mantine/core";
import { useInfiniteQuery } from "@tanstack/react-query";
import { Link, useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import { useMay } from "../api/me.ts";
import { secretsQuestion, type Secret } from "../api/secrets.ts";
import { t } from "../messages/index.ts";
import { secretsTexts } from "../messages/secrets.ts";
import { Empty, Failure } from "../parts/Notice.tsx";
import { Page } from "../parts/Page.tsx";
import { useRows } from "../parts/rows.ts";
import { limitsOf } from "../parts/secrets/limits.ts";
import { SetSecret } from "../parts/secrets/SetSecret.tsx";
import { When } from "../parts/Time.tsx";
import { Waiting } from "../parts/Waiting.tsx";
import "../styles/account.css";

/** The secrets of the environment. Their values never come back. */
export default function Secrets() {
  const texts = secretsTexts();
  const may = useMay();
  const secrets = useInfiniteQuery(secretsQuestion());
  const navigate = useNavigate();
  const [making, setMaking] = useState(false);
  const list = secrets.data?.pages.flatMap((page) => page.data);
  return (
    <Page
      title={t().nav.secrets}
      actions={may("admin") && <Button onClick={() => setMaking(true)}>{texts.create}</Button>}
    >
      <p className="lead">{texts.about}</p>
      {secrets.error && <Failure error={secrets.error} retry={() => void secrets.refetch()} />}
      {secrets.isLoading && <Waiting />}
      {list?.length === 0 && <Empty text={texts.empty} />}
      {list && list.length > 0 && <Table secrets={list} refresh={() => void secrets.refetch()} />}
      {secrets.hasNextPage && (
        <div className="below">
          <Button variant="default" loading={secrets.isFetchingNextPage} onClick={() => void secrets.fetchNextPage()}>
            {t().more}
          </Button>
        </div>
      )}
      {making && (
        <SetSecret
          close={() => setMaking(false)}
          done={(name) => void navigate({ to: "/admin/secrets/$name", params: { name } })}
        />
      )}
    </Page>
  );
}

function Table({ secrets, refresh }: { secrets: readonly Secret[]; refresh: () => void }) {
  const texts = secretsTexts();
  const rows = useRows(refresh);
  return (
    <table className="list" aria-label={t().nav.secrets}>
      <thead>
        <tr>
          <th scope="col">{texts.name}</th>
          <th scope="col">{texts.version}</th>
          <th scope="col">{texts.changed}</th>
          <th scope="col">{texts.onlyFor}</th>
        </tr>
      </thead>
      <tbody>
        {secrets.map((secret) => (
          <tr key={secret.name} aria-current={rows.current === secret.name || undefined}>
            <td className="main">
              <Link
                to="/admin/secrets/$name"
                params={{ name: secret.name }}
                data-row={secret.name}
                onClick={() => rows.choose(secret.name)}
              >
                {secret.name}
              </Link>
            </td>
            <td className="number">
              <span className="narrow">{texts.version} </span>
              {secret.version}
            </td>
            <td>
              <When at={secret.updated_at} />
            </td>
            <td>{limitsOf(secret)}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}
