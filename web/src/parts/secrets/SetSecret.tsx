import { NativeSelect, PasswordInput, TextInput } from "@mantine/core";
import "@mantine/core/styles/PasswordInput.css";
import { useState } from "react";
import { Problem } from "../../api/problem.ts";
import { hasSecret, putSecret, type Secret, type SecretBody } from "../../api/secrets.ts";
import { secretsTexts } from "../../messages/secrets.ts";
import { verifyTexts } from "../../messages/account.ts";
import { formTexts } from "../../messages/workflows.ts";
import { Ask } from "../Ask.tsx";
import { hasLong } from "../form/value.ts";
import { Lines } from "../Lines.tsx";

const split = (text: string) => text.split(/[\n,]/).flatMap((line) => line.trim() || []);

/** What is wrong with a field, before it is sent. */
const wrongAt = (pointer: string, detail: string) =>
  new Problem(400, { code: "invalid_body", title: detail, errors: [{ pointer, detail }] });

type Kind = "text" | "lines" | "json";
type Who = "same" | "all" | "lists";

/** The form that makes a secret, or sets another value of one. The value is in this form and nowhere else. */
export function SetSecret({
  secret,
  close,
  done,
}: {
  /** The secret that gets another value; left out: a new one. */
  secret?: Secret;
  close: () => void;
  done: (name: string) => void;
}) {
  const texts = secretsTexts();
  const known = secret?.name;
  const [name, setName] = useState(known ?? "");
  const [kind, setKind] = useState<Kind>("text");
  const [value, setValue] = useState("");
  const [who, setWho] = useState<Who>(known === undefined ? "all" : "same");
  const [workflows, setWorkflows] = useState(secret?.workflows?.join("\n") ?? "");
  const [namespaces, setNamespaces] = useState(secret?.namespaces?.join("\n") ?? "");
  const [wrong, setWrong] = useState<string>();
  const act = async () => {
    const body: SecretBody = { value };
    if (kind === "json") {
      try {
        body.value = JSON.parse(value) as unknown;
      } catch (error) {
        setWrong(texts.notJson((error as Error).message));
        return;
      }
      if (hasLong(value)) {
        setWrong(formTexts().wrong.long);
        return;
      }
    }
    const [these, those] = who === "lists" ? [split(workflows), split(namespaces)] : [[], []];
    if (who === "lists" && these.length + those.length === 0) {
      throw wrongAt("/workflows", texts.listMissing);
    }
    if (who === "lists" || (who === "all" && known !== undefined)) {
      body.workflows = these.length > 0 ? these : null;
      body.namespaces = those.length > 0 ? those : null;
    }
    if (known === undefined && (await hasSecret(name))) {
      throw wrongAt("/name", texts.nameTaken);
    }
    await putSecret(name, body);
    done(name);
  };
  return (
    <Ask title={known === undefined ? texts.create : texts.setTitle(known)} button={texts.save} close={close} act={act}>
      {(at) => (
        <>
          {known === undefined ? (
            <TextInput
              data-autofocus
              required
              withAsterisk={false}
              label={texts.name}
              description={texts.nameHelp}
              value={name}
              error={at("/name")}
              onChange={(event) => setName(event.currentTarget.value)}
            />
          ) : (
            <p>{texts.setHelp}</p>
          )}
          <NativeSelect
            label={texts.kind}
            value={kind}
            onChange={(event) => {
              setKind(event.currentTarget.value as Kind);
              setWrong(undefined);
            }}
            data={(["text", "lines", "json"] as const).map((one) => ({ value: one, label: texts.kinds[one] }))}
          />
          {kind === "text" ? (
            <PasswordInput
              required
              withAsterisk={false}
              autoComplete="off"
              label={texts.text}
              value={value}
              error={wrong ?? at("/value")}
              aria-invalid={(wrong ?? at("/value")) !== undefined || undefined}
              onPaste={(event) => {
                // The field would put several lines into one.
                if (/[\r\n]/.test(event.clipboardData.getData("text").trim())) {
                  event.preventDefault();
                  setWrong(texts.severalLines);
                }
              }}
              visibilityToggleButtonProps={{ "aria-label": verifyTexts().show }}
              onChange={(event) => {
                setValue(event.currentTarget.value);
                setWrong(undefined);
              }}
            />
          ) : (
            <Lines
              label={kind === "json" ? texts.json : texts.text}
              value={value}
              rows={5}
              wrong={wrong ?? at("/value")}
              change={(text) => {
                setValue(text);
                setWrong(undefined);
              }}
            />
          )}
          <NativeSelect
            label={texts.who}
            value={who}
            onChange={(event) => setWho(event.currentTarget.value as Who)}
            data={(["same", "all", "lists"] as const)
              .filter((one) => known !== undefined || one !== "same")
              .map((one) => ({ value: one, label: texts.whoChoices[one] }))}
          />
          {who === "lists" && (
            <>
              <Lines
                label={texts.workflows}
                help={texts.workflowsHelp}
                value={workflows}
                wrong={at("/workflows")}
                change={setWorkflows}
              />
              <Lines
                label={texts.namespaces}
                help={texts.namespacesHelp}
                value={namespaces}
                wrong={at("/namespaces")}
                change={setNamespaces}
              />
            </>
          )}
        </>
      )}
    </Ask>
  );
}
