"""The exact lines that point a harness at a running gateway."""

from __future__ import annotations

import json

PLACE_OF_MODEL = "YOUR-MODEL"


def start_lines(url: str) -> dict[str, str]:
    """Harness -> what to type or to put into its configuration.

    :param url: of a session, without ``/v1``; it holds the client key. Lines for a shell keep it
        in variables, which other users cannot see, and out of arguments, which they can.
    """
    base = f"{url}/v1"
    pi = {
        "providers": {
            "guarded": {
                "baseUrl": base,
                "api": "openai-completions",
                "apiKey": "YOUR_KEY_VARIABLE",
                "models": [{"id": PLACE_OF_MODEL}],
            }
        }
    }
    opencode = {
        "provider": {
            "guarded": {
                "npm": "@ai-sdk/openai-compatible",
                "options": {"baseURL": base, "apiKey": "{env:YOUR_KEY_VARIABLE}"},
                "models": {PLACE_OF_MODEL: {}},
            }
        }
    }
    return {
        "claude": f"ANTHROPIC_BASE_URL={url} claude",
        "codex": (
            "# ~/.codex/config.toml\n"
            'model_provider = "guarded"\n'
            "[model_providers.guarded]\n"
            'name = "guarded"\n'
            f'base_url = "{base}"\n'
            'env_key = "OPENAI_API_KEY"\n'
            'wire_api = "responses"'
        ),
        "opencode": f"# opencode.json\n{json.dumps(opencode)}",
        "pi": f"# ~/.pi/agent/models.json\n{json.dumps(pi)}",
        "hermes": (
            "# ~/.hermes/config.yaml\n"
            f'model: {{provider: "custom:guarded", default: {PLACE_OF_MODEL}}}\n'
            "custom_providers:\n"
            f'  - {{name: guarded, base_url: "{base}", api_key: YOUR-KEY, '
            "api_mode: chat_completions}"
        ),
        "any other (OpenAI)": f"OPENAI_BASE_URL={base}",
    }
