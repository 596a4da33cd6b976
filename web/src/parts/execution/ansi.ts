/** Takes what terminals understand out of a line: colours, movements of the cursor, titles. */
export function plainLine(text: string): string {
  return text.replace(
    // oxlint-disable-next-line no-control-regex
    /\u001b(?:\[[0-?]*[ -/]*[@-~]|\][^\u0007\u001b]*(?:\u0007|\u001b\\)?|[@-Z\\-_])|[\u0000-\u0008\u000b-\u001f\u007f]/g,
    "",
  );
}
