"""Text-to-image and image editing: prompts, and scoring by scene, reference, checklist or scale."""
