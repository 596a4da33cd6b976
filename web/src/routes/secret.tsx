import { useQuery } from "@tanstack/react-query";
import { Link, useNavigate, useParams } from "@tanstack/react-router";
import { useState } from "react";
import { deleteSecret, rollBackSecret, secretQuestion, type Secret as SecretOf } from "../api/secrets.ts";
import { environment } from "../api/environment.ts";
import { t } from "../messages/index.ts";
import { secretsTexts } from "../messages/secrets.ts";
import { Action } from "../parts/Action.tsx";
import { Ask } from "../parts/Ask.tsx";
import { Failure } from "../parts/Notice.tsx";
import { Page } from "../parts/Page.tsx";
import { limitsOf } from "../parts/secrets/limits.ts";
import { SetSecret } from "../parts/secrets/SetSecret.tsx";
import { When } from "../parts/Time.tsx";
import { Waiting } from "../parts/Waiting.tsx";
import "../styles/account.css";

type Open = { what: "set" | "delete" } | { what: "rollBack"; version: number };

/** One secret: its versions, and who uses it. Its values never come back. */
export default function Secret() {
  const texts = secretsTexts();
  const { name } = useParams({ from: "/admin/secrets/$name" });
  const secret = useQuery(secretQuestion(name));
  const navigate = useNavigate();
  const [open, setOpen] = useState<Open>();
  const close = () => setOpen(undefined);
  const users = secret.data?.used_by ?? [];
  return (
    <Page
      title={name}
      actions={
        secret.data && (
          <>
            <Action onClick={() => setOpen({ what: "set" })}>{texts.set}</Action>
            <Action variant="default" color="red" onClick={() => setOpen({ what: "delete" })}>
              {texts.delete}
            </Action>
          </>
        )
      }
    >
      <p className="lead">
        <Link to="/admin/secrets">{texts.all}</Link>
      </p>
      {secret.isLoadingError && <Failure error={secret.error} retry={() => void secret.refetch()} />}
      {secret.isLoading && <Waiting />}
      {secret.data && <Facts secret={secret.data} />}
      {secret.data && <Versions secret={secret.data} rollBack={(version) => setOpen({ what: "rollBack", version })} />}
      {open?.what === "set" && secret.data && <SetSecret secret={secret.data} close={close} done={close} />}
      {open?.what === "rollBack" && (
        <Ask
          title={texts.rollBackTitle(open.version)}
          button={texts.rollBack}
          close={close}
          act={async () => {
            await rollBackSecret(name, open.version);
            close();
          }}
        >
          <p>{texts.rollBackHelp}</p>
        </Ask>
      )}
      {open?.what === "delete" && (
        <Ask
          danger
          title={texts.deleteTitle(name)}
          button={texts.delete}
          close={close}
          act={async () => {
            await deleteSecret(name);
            await navigate({ to: "/admin/secrets" });
          }}
        >
          {users.length > 0 && <p>{texts.deleteUsed(users.length)}</p>}
          <p>{texts.deleteHelp}</p>
        </Ask>
      )}
    </Page>
  );
}

function Facts({ secret }: { secret: SecretOf }) {
  const texts = secretsTexts();
  const users = secret.used_by ?? [];
  return (
    <dl className="facts">
      <dt>{t().environment.label}</dt>
      <dd>{t().environment[environment()]}</dd>
      <dt>{texts.onlyFor}</dt>
      <dd>{limitsOf(secret)}</dd>
      <dt>{texts.usedBy}</dt>
      <dd>
        {users.length === 0 && texts.usedByNone}
        <ul className="plain">
          {users.map((user) => {
            const [namespace = "", ...rest] = user.workflow.split("/");
            return (
              <li key={user.workflow_id}>
                <Link to="/workflows/$namespace/$name" params={{ namespace, name: rest.join("/") }} search={{}}>
                  {user.workflow}
                </Link>
              </li>
            );
          })}
        </ul>
      </dd>
      <dt>{texts.created}</dt>
      <dd>
        <When at={secret.created_at} />
      </dd>
    </dl>
  );
}

function Versions({ secret, rollBack }: { secret: SecretOf; rollBack: (version: number) => void }) {
  const texts = secretsTexts();
  return (
    <section>
      <h2>{texts.versions}</h2>
      <p className="lead">{texts.versionsHelp}</p>
      <table className="list" aria-label={texts.versions}>
        <thead>
          <tr>
            <th scope="col">{texts.version}</th>
            <th scope="col">{texts.setAt}</th>
            <th scope="col">{t().list.actions}</th>
          </tr>
        </thead>
        <tbody>
          {secret.versions?.map((one) => (
            <tr key={one.version}>
              <td className="main number">
                {texts.version} {one.version}
                {one.restores !== undefined && <span className="meta"> {texts.restores(one.restores)}</span>}
              </td>
              <td>
                <When at={one.set_at} />
              </td>
              <td>
                {one.version === secret.version ? (
                  <span className="meta">{texts.current}</span>
                ) : (
                  <Action
                    variant="default"
                    aria-label={texts.rollBackTitle(one.version)}
                    onClick={() => rollBack(one.version)}
                  >
                    {texts.rollBack}
                  </Action>
                )}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}
