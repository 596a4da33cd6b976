import { MantineProvider } from "@mantine/core";
import { QueryClientProvider } from "@tanstack/react-query";
import { RouterProvider } from "@tanstack/react-router";
import { useLayoutEffect, useRef } from "react";
import { queries } from "../api/query.ts";
import { useWording } from "../messages/use.ts";
import { router } from "./router.tsx";
import { schemes } from "../parts/scheme.ts";
import { theme, variables } from "./theme.ts";

/** Focuses what has an id as soon as it is drawn, unless something else has the focus by then. */
function focusAgain(id: string): void {
  const focus = () => {
    const element = document.getElementById(id);
    if (document.activeElement === document.body && element !== null) {
      element.focus({ preventScroll: true });
    }
    return document.activeElement !== document.body;
  };
  if (!focus()) {
    const drawn = new MutationObserver(() => focus() && drawn.disconnect());
    drawn.observe(document.body, { childList: true, subtree: true });
  }
}

/** All is drawn anew when the language or the time zone changes. What had the focus has it again. */
function useKeptFocus(wording: string): void {
  const before = useRef(wording);
  const focused = document.activeElement?.id ?? "";
  useLayoutEffect(() => {
    if (before.current !== wording && focused !== "") {
      focusAgain(focused);
    }
    before.current = wording;
  });
}

export function App({ nonce }: { nonce: string }) {
  const wording = useWording();
  useKeptFocus(wording);
  return (
    <MantineProvider
      theme={theme}
      cssVariablesResolver={variables}
      defaultColorScheme="auto"
      colorSchemeManager={schemes}
      getStyleNonce={() => nonce}
    >
      <QueryClientProvider client={queries}>
        <RouterProvider key={wording} router={router} />
      </QueryClientProvider>
    </MantineProvider>
  );
}
