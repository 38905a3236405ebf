"""The retrieval chain ``agent_activation.v2``: from a query to fragments and their trace."""
