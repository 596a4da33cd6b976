import { NativeSelect, TextInput } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useDeferredValue, useId } from "react";
import type { Environment } from "../../api/environment.ts";
import { roles, workflowId, type NewRole, type Role } from "../../api/people.ts";
import { namesQuestion } from "../../api/workflows.ts";
import { t } from "../../messages/index.ts";
import { peopleTexts } from "../../messages/people.ts";
import type { At } from "../Ask.tsx";

/** A role as it is typed. */
export interface TypedRole {
  role: Role;
  over: "everything" | "namespace" | "workflow";
  namespace: string;
  workflow: string; // namespace/name
  environments: "both" | Environment;
}

export const firstRole: TypedRole = {
  role: "viewer",
  over: "everything",
  namespace: "",
  workflow: "",
  environments: "both",
};

/** The role as the API takes it. What is wrong with a name is a problem of its field, whose pointer begins with at. */
export async function readRole(typed: TypedRole, at = ""): Promise<NewRole> {
  const { role, over } = typed;
  if (role === "admin") {
    return { role, environments: ["live", "test"] };
  }
  return {
    role,
    environments: typed.environments === "both" ? ["live", "test"] : [typed.environments],
    ...(over === "namespace" && { namespace: typed.namespace.trim() }),
    ...(over === "workflow" && { workflow_id: await workflowId(typed.workflow, `${at}/workflow_id`) }),
  };
}

/** The fields of a role: which, over what, and where. */
export function RoleFields({
  value,
  change,
  at,
  pointer = "",
}: {
  value: TypedRole;
  change: (value: TypedRole) => void;
  at: At;
  pointer?: string;
}) {
  const texts = peopleTexts();
  const set = (part: Partial<TypedRole>) => change({ ...value, ...part });
  const admin = value.role === "admin";
  return (
    <>
      <NativeSelect
        label={texts.role}
        description={texts.roleHelp[value.role]}
        value={value.role}
        error={at(`${pointer}/role`)}
        onChange={(event) => set({ role: event.currentTarget.value as Role })}
        data={roles.map((role) => ({ value: role, label: texts.roles[role] }))}
      />
      {admin && <p>{texts.adminHelp}</p>}
      {!admin && (
        <>
          <NativeSelect
            label={texts.over}
            value={value.over}
            onChange={(event) => set({ over: event.currentTarget.value as TypedRole["over"] })}
            data={(["everything", "namespace", "workflow"] as const).map((over) => ({
              value: over,
              label: texts.overs[over],
            }))}
          />
          {value.over !== "everything" && (
            <Scope over={value.over} value={value[value.over]} set={set} at={at} pointer={pointer} />
          )}
          <NativeSelect
            label={t().environment.label}
            value={value.environments}
            error={at(`${pointer}/environments`)}
            onChange={(event) => set({ environments: event.currentTarget.value as TypedRole["environments"] })}
            data={[
              { value: "both", label: texts.both },
              ...(["live", "test"] as const).map((name) => ({ value: name, label: t().environment[name] })),
            ]}
          />
        </>
      )}
    </>
  );
}

/** The namespace or the workflow, with those that there are. */
function Scope({
  over,
  value,
  set,
  at,
  pointer,
}: {
  over: "namespace" | "workflow";
  value: string;
  set: (part: Partial<TypedRole>) => void;
  at: At;
  pointer: string;
}) {
  const texts = peopleTexts();
  const list = useId();
  const known = useQuery(namesQuestion(useDeferredValue(value))).data?.data ?? [];
  const options = new Set(
    known.map((each) => (over === "namespace" ? each.namespace : `${each.namespace}/${each.name}`)),
  );
  return (
    <>
      <TextInput
        required
        withAsterisk={false}
        label={texts.overs[over]}
        description={over === "workflow" ? texts.workflowHelp : texts.namespaceHelp}
        error={at(`${pointer}/${over === "workflow" ? "workflow_id" : "namespace"}`)}
        list={list}
        spellCheck={false}
        value={value}
        onChange={(event) => set({ [over]: event.currentTarget.value })}
      />
      <datalist id={list}>
        {[...options].map((name) => (
          <option key={name}>{name}</option>
        ))}
      </datalist>
    </>
  );
}
