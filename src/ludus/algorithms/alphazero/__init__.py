"""AlphaZero and AlphaGo Zero: learning from a search's own matches (Silver et al. 2017, 2018; paper 003)."""
