import js from "@eslint/js";
import { defineConfig } from "eslint/config";
import tseslint from "typescript-eslint";

export default defineConfig(
  { ignores: ["dist", "src/api/graphql-env.d.ts"] },
  js.configs.recommended,
  tseslint.configs.strictTypeChecked,
  tseslint.configs.stylisticTypeChecked,
  {
    languageOptions: {
      parserOptions: {
        projectService: { allowDefaultProject: ["eslint.config.js"] },
        tsconfigRootDir: import.meta.dirname,
      },
    },
    rules: {
      // Numbers read well in messages and need no ceremony there.
      "@typescript-eslint/restrict-template-expressions": ["error", { allowNumber: true }],
      "no-restricted-properties": [
        "error",
        { property: "innerHTML", message: "Text from the server goes through textContent." },
        { property: "outerHTML", message: "Text from the server goes through textContent." },
        { property: "insertAdjacentHTML", message: "Text from the server goes through textContent." },
      ],
    },
  },
);
