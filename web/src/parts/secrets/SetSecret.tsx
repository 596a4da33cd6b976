import { NativeSelect, PasswordInput, TextInput } from "@mantine/core";
import "@mantine/core/styles/PasswordInput.css";
import { useState } from "react";
import { putSecret, type SecretBody } from "../../api/secrets.ts";
import { secretsTexts } from "../../messages/secrets.ts";
import { verifyTexts } from "../../messages/account.ts";
import { Ask } from "../Ask.tsx";
import { Lines } from "../Lines.tsx";

const split = (text: string) => text.split(/[\n,]/).flatMap((line) => line.trim() || []);

type Who = "same" | "all" | "lists";

/** The form that makes a secret, or sets another value of one. The value is in this form and nowhere else. */
export function SetSecret({
  name: known,
  close,
  done,
}: {
  name?: string;
  close: () => void;
  done: (name: string) => void;
}) {
  const texts = secretsTexts();
  const [name, setName] = useState(known ?? "");
  const [kind, setKind] = useState<"text" | "json">("text");
  const [value, setValue] = useState("");
  const [who, setWho] = useState<Who>(known === undefined ? "all" : "same");
  const [workflows, setWorkflows] = useState("");
  const [namespaces, setNamespaces] = useState("");
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
    }
    if (who !== "same") {
      const list = (text: string) => (who === "all" || split(text).length === 0 ? null : split(text));
      Object.assign(body, { workflows: list(workflows), namespaces: list(namespaces) });
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
            onChange={(event) => setKind(event.currentTarget.value as "text" | "json")}
            data={(["text", "json"] as const).map((one) => ({ value: one, label: texts.kinds[one] }))}
          />
          {kind === "text" ? (
            <PasswordInput
              required
              withAsterisk={false}
              autoComplete="off"
              label={texts.text}
              value={value}
              error={at("/value")}
              visibilityToggleButtonProps={{ "aria-label": verifyTexts().show }}
              onChange={(event) => setValue(event.currentTarget.value)}
            />
          ) : (
            <Lines
              label={texts.json}
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
