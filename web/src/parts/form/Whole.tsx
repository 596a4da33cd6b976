import { formTexts } from "../../messages/workflows.ts";
import type { FieldProps } from "./Leaf.tsx";
import { Inside, SchemaField } from "./SchemaForm.tsx";

/** The fields of a whole value. An object without a title needs no frame of its own. */
export function Whole(props: Omit<FieldProps, "at" | "required"> & { title: string }) {
  const { title, field, ...rest } = props;
  const inner = { ...rest, at: "", required: true };
  return (
    <>
      {field.kind === "object" && field.pointer === "" && field.title === "" && !field.items ? (
        <Inside {...inner} field={field} />
      ) : (
        <SchemaField {...inner} field={{ ...field, title: field.title || title }} />
      )}
      {field.fields?.length === 0 && !field.items && <p className="meta">{formTexts().nothing}</p>}
    </>
  );
}
