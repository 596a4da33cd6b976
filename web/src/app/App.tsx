import { MantineProvider } from "@mantine/core";
import { QueryClientProvider } from "@tanstack/react-query";
import { RouterProvider } from "@tanstack/react-router";
import { queries } from "../api/query.ts";
import { useLanguage } from "../messages/use.ts";
import { router } from "./router.tsx";
import { schemes, theme, variables } from "./theme.ts";

export function App({ nonce }: { nonce: string }) {
  const language = useLanguage();
  return (
    <MantineProvider
      theme={theme}
      cssVariablesResolver={variables}
      defaultColorScheme="auto"
      colorSchemeManager={schemes}
      getStyleNonce={() => nonce}
    >
      <QueryClientProvider client={queries}>
        <RouterProvider key={language} router={router} />
      </QueryClientProvider>
    </MantineProvider>
  );
}
